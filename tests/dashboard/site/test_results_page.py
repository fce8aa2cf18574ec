"""The figures in the texts of docs/results*.template: looked up, and none of them typed."""

import importlib
import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DOCS = Path(__file__).parents[3] / "docs"
UNITS = r"(?:%|(?:ms|µs|s|minutes|MB|GB|GiB|MHz|times|million|points)\b)"
TYPED = re.compile(rf"(?<![\w.])\d[\d,.]*\s*{UNITS}")
LOOKED_UP = re.compile(r"\{[^}]*\}|\]\([^)]*\)|`[^`]*`")  # and links and code
CONSTANTS = {"95%"}  # the level of an interval: chosen, not measured


def typed_figures(template: str) -> list[str]:
    """The figures with a unit that are not looked up."""
    figures = (match.group() for match in TYPED.finditer(LOOKED_UP.sub("{}", template)))
    return [figure for figure in figures if figure not in CONSTANTS]


@pytest.mark.parametrize(
    "template", sorted(DOCS.glob("results*.template")), ids=lambda path: path.stem
)
def test_no_figure_of_the_pages_of_results_is_typed(template: Path) -> None:
    assert typed_figures(template.read_text()) == []


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ("takes 3.4 ms instead of 6.9", ["3.4 ms"]),
        ("up to 71% more, 2.4 times as fast", ["71%", "2.4 times"]),
        ("takes {ms[llama 2.11.0 H100]} ms of [it](a/5%)", []),
        ("the 95% interval of H100s in 2.15.0, `--minutes 20 minutes`", []),
    ],
)
def test_typed_figure_is_found(template: str, found: list[str]) -> None:
    assert typed_figures(template) == found


@pytest.fixture
def results_figures(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(DOCS)
    return importlib.import_module("results_figures")


@pytest.fixture
def device_times(results_figures: ModuleType) -> Mapping[str, str]:
    """The figures of a GPU that measured an MLP in both modes and two releases."""
    groups = {
        (f"mlp.standard.{mode}.bfloat16.static.b1024", "inductor"): {
            "2.11.0": [{"metrics": {"device_ms": {"value": 0.14}}}],
            "2.13.0": [{"metrics": {"device_ms": {"value": 0.15}}}],
        }
        for mode in ("inference", "training")
    }
    figures: Mapping[str, str] = results_figures.figures({"GPU": groups})["ms"]
    return figures


def test_figure_of_the_results_page_is_of_the_release_that_is_named(
    device_times: Mapping[str, str],
) -> None:
    assert device_times["mlp inference 2.11.0 GPU"] == "0.14"
    assert device_times["mlp inference GPU"] == "0.15"  # of the newest


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            "mlp GPU",
            "name more of the benchmark, these fit: mlp.standard.inference.bfloat16.static.b1024, "
            "mlp.standard.training.bfloat16.static.b1024",
        ),
        ("mlp inference regional GPU", "none was measured that fits, in regional"),
        (
            "mlp inference 2.12.0 GPU",
            "mlp.standard.inference.bfloat16.static.b1024 was measured in 2.11.0, 2.13.0, not in "
            "2.12.0",
        ),
        ("mlp inference", "name a place, of GPU"),
    ],
)
def test_figure_that_not_one_benchmark_fits_says_what_to_name(
    words: str, problem: str, device_times: Mapping[str, str]
) -> None:
    with pytest.raises(LookupError) as error:
        device_times[words]
    assert str(error.value) == f"{words}: {problem}"


def process(device_ms: float) -> dict[str, Any]:
    kernels = [{"name": "triton_0", "ms": device_ms / 2}, {"name": "convolution", "ms": 1}]
    return {
        "metrics": {"device_ms": {"value": device_ms}},
        "samples": {"compiled": {"values": [device_ms, 2 * device_ms]}},
        "profile": {"compiled": {"kernels": kernels}},
    }


@pytest.mark.parametrize(
    ("lookup", "words", "text"),
    [
        ("processes", "device_ms mlp 2.11.0 GPU", "10 to 30"),
        ("samples", "compiled mlp 2.11.0 GPU", "10 to 60"),
        ("change", "mlp GPU 2.11.0 2.15.0", "25%"),
        ("more", "mlp 2.11.0 GPU inductor regional", "50%"),
        ("kernels", "mlp 2.15.0 GPU triton_", "7.5"),
        ("kernels", "mlp 2.15.0 GPU triton_|convolution", "8.5"),
        ("share", "mlp GPU 2.11.0 2.15.0 triton_", "50%"),
        ("across", "device_ms GPU inductor 2.11.0 2.15.0 least", "-25"),
        ("across", "device_ms GPU inductor 2.11.0 2.15.0 count", "2"),
        ("apart", "device_ms GPU 2.11.0 inductor regional most", "10"),
    ],
)
def test_figure_compares(lookup: str, words: str, text: str, results_figures: ModuleType) -> None:
    mlp, cnn = "mlp.standard.inference", "cnn.standard.inference"
    places = {
        "GPU": {
            (mlp, "inductor"): {"2.11.0": [process(10), process(30)], "2.15.0": [process(15)]},
            (mlp, "regional"): {"2.11.0": [process(30)]},
            (cnn, "inductor"): {"2.11.0": [process(40)], "2.15.0": [process(60)]},
        }
    }
    assert results_figures.figures(places)[lookup][words] == text
