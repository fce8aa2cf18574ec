"""``coverage``: every benchmark × config with its status, on a CPU at smoke size and on a GPU at
standard size.

The answer is docs/coverage.md, made from result files alone: what is not in them was not run.
Imports no torch.
"""

import json
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks_suite.benchmark import Benchmark
from benchmarks_suite.commands import kept
from benchmarks_suite.commands.missing import missing
from benchmarks_suite.configs import CONFIGS, Config
from benchmarks_suite.harness import recorded, report
from benchmarks_suite.registry import BENCHMARKS

OK, WRONG_INPUT = 0, 2
MARKS = {
    "pass": "P",
    "not judged": "N",
    "nothing compiled": "0",
    "fail_accuracy": "A",
    "eager_two_runs_differ": "E",
    "fail_to_compile": "C",
    "fail_to_run": "R",
    "oom": "M",
    "timeout": "T",
    "crashed": "X",
    "unsupported": "U",
}
NOT_RUN, NOT_FOR_IT = ".", "-"
ABOUT_LENGTH = 300

Results = dict[recorded.Case, recorded.Document]


@dataclass(frozen=True)
class Place:
    """One half of the page: where, and the size of the benchmarks that belong there."""

    device: str
    size: str
    label: str


CPU, GPU = Place("cpu", "smoke", "CPU"), Place("cuda", "standard", "GPU")


def declare(parser: ArgumentParser) -> None:
    kept.declare(parser)
    parser.add_argument(
        "--missing",
        metavar="DEVICE",
        help="instead of the page: what was not run on cpu, cuda or cuda:N, as a list for batch",
    )
    parser.add_argument(
        "--keep", type=Path, metavar="FILE", help="also write what was used here, as .jsonl.gz"
    )


def run(options: Namespace) -> int:
    documents = kept.read(options)
    if documents is None:
        return WRONG_INPUT
    if options.keep:
        recorded.keep(
            [*newest(documents, CPU).values(), *newest(documents, GPU).values()], options.keep
        )
    answer = (
        page(documents, " ".join(map(str, options.results)))
        if not options.missing
        else listed(documents, options.missing)
    )
    print(answer)  # noqa: T201 - the answer to the person who asked
    return OK


def listed(documents: list[recorded.Document], device: str) -> str:
    """What was not run on ``device``, one line of JSON a job, as ``batch`` reads it."""
    place = CPU if device == CPU.device else GPU
    cases = missing(newest(documents, place), place.size)
    return "\n".join(
        json.dumps({"benchmark": name, "config": config, "device": device})
        for name, config in cases
    )


def newest(documents: Iterable[recorded.Document], place: Place) -> Results:
    """The last result of each case of this place, in the order of the registry and of configs; none
    of a variant.
    """
    found: Results = {}
    plain = (document for document in documents if not document["job"].get("variant"))
    for document in sorted(plain, key=lambda document: str(document["finished_at"])):
        name = document["benchmark"]["name"]
        here = (
            document["job"]["device"].startswith(place.device)
            and document["benchmark"]["size"] == place.size
        )
        if (
            here
            and name in BENCHMARKS
            and BENCHMARKS[name].version == document["benchmark"]["version"]
        ):
            found[recorded.case(document)] = document
    benchmarks, configs = list(BENCHMARKS), list(CONFIGS)
    return dict(
        sorted(
            found.items(),
            key=lambda item: (benchmarks.index(item[0][0]), _place_of(item[0][1], configs)),
        )
    )


def _place_of(config: str, configs: list[str]) -> int:
    # Backend_<name> is in no table
    return configs.index(config) if config in configs else len(configs)


def page(documents: list[recorded.Document], sources: str) -> str:
    """The whole page, Markdown. sources: the arguments that repeat it."""
    halves = {place: newest(documents, place) for place in (CPU, GPU)}
    lines = [
        "# What was run",
        "",
        f"Made by `python -m benchmarks_suite coverage {sources}`; not by hand.",
        "",
        *_legend(),
        "",
        "## Configs",
        "",
        *_configs(halves),
    ]
    for place, results in halves.items():
        lines += [
            "",
            f"## {place.label}, {place.size} size",
            "",
            *_told(place, results),
            "",
            *_matrix(place, results),
        ]
    return "\n".join([*lines, "", "## What did not pass", "", *_failures(halves)])


def _legend() -> list[str]:
    words = ", ".join(f"`{mark}` {status}" for status, mark in MARKS.items())
    return [
        f"Marks: {words}, `{NOT_RUN}` not run,",
        f"`{NOT_FOR_IT}` the config is not for this mode, shape profile or device.",
        (
            "Not judged: measured, but without a reference for its accuracy. Nothing compiled: "
            "dynamo skipped every frame"
        ),
        (
            "(Triton's interpreter on a CPU), so both arms ran in eager. `eager` counts as run "
            "where it was the control of"
        ),
        "another config.",
    ]


def _configs(halves: dict[Place, Results]) -> Iterator[str]:
    """One row for each config: its number in the matrices, and what became of it in each place."""
    yield "| | config | " + " | ".join(f"{place.label}, {place.size}" for place in halves) + " |"
    yield "|---|---|" + "---|" * len(halves)
    for number, name in enumerate(CONFIGS, 1):
        cells = (_counted(place, name, results) for place, results in halves.items())
        yield f"| {number} | `{name}` | {' | '.join(cells)} |"


def _counted(place: Place, config: str, results: Results) -> str:
    """How many cases of the config ended how: ``12 pass, 1 timeout``."""
    words = {mark: status for status, mark in MARKS.items()}
    marks = (
        mark_of(place, benchmark, CONFIGS[config], results) for benchmark in BENCHMARKS.values()
    )
    counts = Counter(words[mark] for mark in marks if mark in words)
    return (
        ", ".join(f"{counts[status]} {status}" for status in MARKS if counts[status])
        or f"not run on {place.label}"
    )


def mark_of(place: Place, benchmark: Benchmark, config: Config, results: Results) -> str:
    """One character of a matrix."""
    result = results.get((benchmark.name, config.name))
    if result is not None:
        return MARKS[_word(result)]
    if not config.compiles and _eager_ms(benchmark, results) is not None:
        return MARKS["pass"]
    return NOT_RUN if _is_for(config, benchmark, place) else NOT_FOR_IT


def _word(result: recorded.Document) -> str:
    """The status word, and for a pass what a status word does not tell."""
    if result["status"] == "pass" and result.get("accuracy", {}).get("status") == "no_reference":
        return "not judged"
    if result["status"] == "pass" and result["message"] == report.NOTHING_COMPILED:
        return "nothing compiled"
    return str(result["status"])


def _is_for(config: Config, benchmark: Benchmark, place: Place) -> bool:
    of_mode = not config.modes or benchmark.mode in config.modes
    of_shapes = not config.shapes or benchmark.shapes in config.shapes
    return of_mode and of_shapes and not (config.gpu_only and place is CPU)


def _told(place: Place, results: Results) -> Iterator[str]:
    """What these results were measured on."""
    if not results:
        yield f"Nothing was run on a {place.label}."
    machines = Counter(map(_machine, results.values()))
    yield from (f"- {count} cases on {machine}" for machine, count in sorted(machines.items()))


def _machine(document: recorded.Document) -> str:
    environment = document["environment"]
    hardware = environment["machine"].get("gpu") or environment["machine"]["cpu"]
    return f"{hardware}, torch {environment['torch']['version']}, {document['finished_at'][:10]}"


def _matrix(place: Place, results: Results) -> Iterator[str]:
    """Benchmarks down, configs across by their numbers; then eager's time and Inductor's
    speedup.
    """
    benchmarks = [benchmark for benchmark in BENCHMARKS.values() if benchmark.size == place.size]
    width, numbers = (
        max(len(benchmark.name) for benchmark in benchmarks),
        range(1, len(CONFIGS) + 1),
    )
    yield "```"
    yield f"{'':<{width}}  {''.join(str(number // 10 or ' ') for number in numbers)}   eager ms"
    yield f"{'':<{width}}  {''.join(str(number % 10) for number in numbers)}   or status  inductor"
    for benchmark in benchmarks:
        marks = "".join(mark_of(place, benchmark, config, results) for config in CONFIGS.values())
        yield f"{benchmark.name:<{width}}  {marks}  {_figures(place, benchmark, results)}".rstrip()
    yield "```"


def _figures(place: Place, benchmark: Benchmark, results: Results) -> str:
    if not any(name == benchmark.name for name, _ in results):
        return f" not run on {place.label}"
    eager_ms, inductor = _eager_ms(benchmark, results), results.get((benchmark.name, "inductor"))
    eager = (
        f"{eager_ms:9.4g}" if eager_ms is not None else f"{_eager_status(benchmark, results):>9}"
    )
    speedup = inductor["metrics"].get("speedup") if inductor else None
    return f"{eager}  {speedup['value']:8.3f}x" if speedup else eager


def _eager_ms(benchmark: Benchmark, results: Results) -> float | None:
    """Eager's latency: of its own case, else of the control of the first config that has one."""
    for (name, config), result in results.items():
        entry = result["metrics"].get("latency_ms" if config == "eager" else "eager_latency_ms")
        if name == benchmark.name and entry:
            return float(entry["value"])
    return None


def _eager_status(benchmark: Benchmark, results: Results) -> str:
    arms = [
        result.get("arms", {}).get("eager")
        for (name, _), result in results.items()
        if name == benchmark.name
    ]
    return next((arm["status"] for arm in arms if arm), "–")


def _failures(halves: dict[Place, Results]) -> Iterator[str]:
    """One row for each case that did not pass, with its reason."""
    rows = [row for place, results in halves.items() for row in _failing(place, results)]
    yield from (
        ("| benchmark | config | where | status | reason |", "|---|---|---|---|---|")
        if rows
        else ("Nothing.",)
    )
    yield from rows


def _failing(place: Place, results: Results) -> Iterator[str]:
    for (name, config), result in results.items():
        if result["status"] != "pass":
            yield _row(name, config, place, result["status"], result["message"])
        for arm, found in result.get("arms", {}).items():
            yield _row(name, config, place, f"{arm}: {found['status']}", found["message"])


def _row(*cells: Any) -> str:
    name, config, place, status, message = cells
    words = " ".join(str(message).split()).replace("|", "\\|")
    about = words if len(words) <= ABOUT_LENGTH else f"{words[: ABOUT_LENGTH - 1]}…"
    return f"| {name} | `{config}` | {place.label} | {status} | {about} |"
