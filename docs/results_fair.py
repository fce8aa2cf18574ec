"""The table of docs/results.md that compares compiled steps with what a competent user runs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from results_cells import number_text, short_name
from results_summary import Document, values

from benchmarks_suite.harness import recorded

FOLDER = "fair_eager"
FAIR = {  # the config -> what is fair about it
    "eager_channels_last": "channels last",
    "eager_library": "library call",
    "eager_fused_optimizer": "fused Adam",
}


def fair_eager(folder: Path) -> Iterator[Sequence[str]]:
    """Header and rows: the GPU's time of a step in ms, and compiled against both eagers."""
    yield "benchmark", "eager", "fair eager", "compiled", "against eager", "against fair eager"
    by_case: dict[str, dict[str, list[Document]]] = {}
    for result in recorded.read(folder / FOLDER):
        job = result["job"]
        by_case.setdefault(job["benchmark"], {}).setdefault(job["config"], []).append(result)
    for benchmark, by_config in by_case.items():
        fair = next((config for config in FAIR if config in by_config), None)
        if fair is None or "inductor" not in by_config:
            continue
        compiled_ms = _device_ms(by_config["inductor"])
        fair_ms = _device_ms(by_config[fair])
        eager = values(by_config["inductor"], "eager_device_ms")
        yield (
            short_name(benchmark),
            number_text(median(eager), 3) if eager else "out of memory",
            f"{number_text(fair_ms, 3)} ({FAIR[fair]})",
            number_text(compiled_ms, 3),
            f"{median(eager) / compiled_ms:.2f}×" if eager else "–",
            f"{fair_ms / compiled_ms:.2f}×",
        )


def _device_ms(results: Sequence[Document]) -> float:
    return median(values(results, "device_ms"))
