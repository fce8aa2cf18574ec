"""``coverage``: every benchmark × config with its status, on a CPU (smoke) and a GPU (standard).

Prints docs/coverage.md, made from result files: what is not in them was not run; and from
published.py, where the models come from. Imports no torch.
"""

import json
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks_suite import published
from benchmarks_suite.benchmark import Benchmark
from benchmarks_suite.commands import coverage_field, result_paths
from benchmarks_suite.commands.missing import missing
from benchmarks_suite.configs import CONFIGS, Config
from benchmarks_suite.harness import progress, recorded, report
from benchmarks_suite.harness.contract import Document
from benchmarks_suite.harness.recorded import Case
from benchmarks_suite.registry import BENCHMARKS, SUITE

OK = 0
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
PASSED = ("pass", "not judged", "nothing compiled")
EXPLAINED = {
    "not judged": "not judged: measured, but without a reference for its accuracy",
    "nothing compiled": "nothing compiled: dynamo skipped every frame (Triton's interpreter on a"
    " CPU), so both arms ran in eager",
}
NOT_RUN, NOT_FOR_IT = ".", "-"
REASON_LENGTH = 300

ResultByCase = dict[Case, Document]


@dataclass(frozen=True)
class Section:
    """One half of the page: a kind of device, and the size of the benchmarks for it."""

    device: str
    size: str
    label: str


CPU, GPU = Section("cpu", "smoke", "CPU"), Section("cuda", "standard", "GPU")


def declare(parser: ArgumentParser) -> None:
    result_paths.declare(parser)
    parser.add_argument(
        "--missing",
        metavar="DEVICE",
        help="instead of the page: what was not run on cpu, cuda or cuda:N, as a list for batch",
    )
    parser.add_argument(
        "--keep", type=Path, metavar="FILE", help="also write what was used here, as .jsonl.gz"
    )


def run(options: Namespace) -> int:
    documents = result_paths.read(options)
    if options.keep:
        used = [*newest(documents, CPU).values(), *newest(documents, GPU).values()]
        used += newest(documents, CPU, of_field=True).values()
        used += newest(documents, GPU, of_field=True).values()
        recorded.keep(used, options.keep)
    if options.missing:
        text = missing_lines(documents, options.missing)
    else:
        text = page(documents, " ".join(map(str, options.results)))
    progress.answer(text)
    return OK


def missing_lines(documents: list[Document], device: str) -> str:
    """What was not run on ``device``, one line of JSON a job, as ``batch`` reads it."""
    section = CPU if device == CPU.device else GPU
    lines = []
    for name, config in missing(newest(documents, section), section.size):
        lines.append(json.dumps({"benchmark": name, "config": config, "device": device}))
    return "\n".join(lines)


def newest(
    documents: Iterable[Document], section: Section, *, of_field: bool = False
) -> ResultByCase:
    """The last result of each case of this section, in the order of the registry and of configs;
    none of a variant. of_field: of the field's models instead of the suite's own.
    """
    results: ResultByCase = {}
    for document in sorted(documents, key=lambda document: str(document["finished_at"])):
        if _belongs(document, section, of_field):
            results[recorded.case(document)] = document
    benchmarks, configs = list(BENCHMARKS), list(CONFIGS)

    def position(case: Case) -> tuple[int, int]:
        benchmark, config = case
        # backend_<name> is not in the table: last
        in_configs = configs.index(config) if config in configs else len(configs)
        return benchmarks.index(benchmark), in_configs

    return {case: results[case] for case in sorted(results, key=position)}


def _belongs(document: Document, section: Section, of_field: bool) -> bool:
    """Whether it measured a benchmark of the section as the registry has it, and no variant."""
    job, measured = document["job"], document["benchmark"]
    if job.get("variant") or not job["device"].startswith(section.device):
        return False
    if measured["size"] != section.size or measured["name"] not in BENCHMARKS:
        return False
    benchmark = BENCHMARKS[measured["name"]]
    return benchmark.is_of_field == of_field and bool(benchmark.version == measured["version"])


def page(documents: list[Document], sources: str) -> str:
    """The whole page, Markdown. sources: the arguments that repeat it."""
    halves = {section: newest(documents, section) for section in (CPU, GPU)}
    lines = ["# What was run", "", *_totals(halves), "", "## Configs", "", *_configs(halves)]
    lines += ["", "## Marks", "", *_legend()]
    for section, results in halves.items():
        lines += ["", f"## {section.label}, {section.size} size", ""]
        lines += [*_measured_on(section, results), "", *_matrix(section, results)]
    lines += ["", "## What did not pass", "", *_failures(halves)]
    field_results = newest(documents, CPU, of_field=True)
    on_gpu = [each for each in documents if _belongs(each, GPU, of_field=True)]
    lines += ["", "## The field's own models", "", *coverage_field.lines(field_results, on_gpu)]
    lines += ["", "## Sources of the models", "", *_sources()]
    lines += ["", "## How this page is made", "", "By this command, not by hand:", ""]
    lines += ["```sh", f"python -m benchmarks_suite coverage {sources}", "```"]
    return "\n".join(lines)


def _totals(halves: dict[Section, ResultByCase]) -> Iterator[str]:
    """How many cases passed, failed and were not run, in each half."""
    yield "Every benchmark of the suite in every config that it is for, by its newest result."
    yield "Most configs are run on a few benchmarks only."
    yield ""
    yield "| where | passed | did not pass | not run |"
    yield "|---|--:|--:|--:|"
    for section, results in halves.items():
        marks = Counter[str]()
        for benchmark in SUITE.values():
            if benchmark.size == section.size:
                marks.update(
                    mark_of(section, benchmark, config, results) for config in CONFIGS.values()
                )
        not_run = marks.pop(NOT_RUN, 0)
        marks.pop(NOT_FOR_IT, 0)
        passed = sum(marks.pop(MARKS[status], 0) for status in PASSED)
        cells = f"{passed} | {marks.total()} | {not_run}"
        yield f"| {section.label}, {section.size} size | {cells} |"


def _legend() -> Iterator[str]:
    yield "| mark | the case |"
    yield "|---|---|"
    for status, mark in MARKS.items():
        yield f"| `{mark}` | {EXPLAINED.get(status, status)} |"
    yield f"| `{NOT_RUN}` | not run |"
    yield f"| `{NOT_FOR_IT}` | the config is not for this mode, shape profile or device |"
    yield ""
    yield "`eager` counts as run where it was the control of another config."


def _configs(halves: dict[Section, ResultByCase]) -> Iterator[str]:
    """One row for each config: its number in the matrices, and what became of it in each half."""
    titles = " | ".join(f"{section.label}, {section.size}" for section in halves)
    yield f"| | config | {titles} |"
    yield "|---|---|" + "---|" * len(halves)
    for number, name in enumerate(CONFIGS, 1):
        cells = [_counts(section, name, results) for section, results in halves.items()]
        yield f"| {number} | `{name}` | {' | '.join(cells)} |"


def _counts(section: Section, config: str, results: ResultByCase) -> str:
    """How many cases of the config ended how: ``12 pass, 1 timeout``."""
    marks = Counter[str]()
    for benchmark in SUITE.values():
        marks[mark_of(section, benchmark, CONFIGS[config], results)] += 1
    counts = [f"{marks[mark]} {status}" for status, mark in MARKS.items() if marks[mark]]
    return ", ".join(counts) or f"not run on {section.label}"


def mark_of(section: Section, benchmark: Benchmark, config: Config, results: ResultByCase) -> str:
    """One character of a matrix."""
    result = results.get((benchmark.name, config.name))
    if result is not None:
        return MARKS[_status(result)]
    if not config.compares and _eager_ms(benchmark, results) is not None:
        return MARKS["pass"]
    return NOT_RUN if _is_for(config, benchmark, section) else NOT_FOR_IT


def _status(result: Document) -> str:
    """The status word, and for a pass what a status word does not say."""
    accuracy = result.get("accuracy", {}).get("status")
    if result["status"] == "pass" and accuracy in report.NOT_JUDGED:
        return "not judged"
    if result["status"] == "pass" and result["message"] == report.NOTHING_COMPILED:
        return "nothing compiled"
    return str(result["status"])


def _is_for(config: Config, benchmark: Benchmark, section: Section) -> bool:
    of_mode = not config.modes or benchmark.mode in config.modes
    of_shapes = not config.shapes or benchmark.shapes in config.shapes
    return of_mode and of_shapes and not (config.gpu_only and section is CPU)


def _measured_on(section: Section, results: ResultByCase) -> Iterator[str]:
    """What these results were measured on."""
    if not results:
        yield f"Nothing was run on a {section.label}."
    machines = Counter(map(_machine, results.values()))
    for machine, count in sorted(machines.items()):
        yield f"- {count} cases on {machine}"


def _machine(document: Document) -> str:
    environment = document["environment"]
    hardware = environment["machine"].get("gpu") or environment["machine"]["cpu"]
    return f"{hardware}, torch {environment['torch']['version']}, {document['finished_at'][:10]}"


def _matrix(section: Section, results: ResultByCase) -> Iterator[str]:
    """Benchmarks down, configs across by their numbers; then eager's time, Inductor's speedup."""
    benchmarks = [each for each in SUITE.values() if each.size == section.size]
    width = max(len(benchmark.name) for benchmark in benchmarks)
    numbers = range(1, len(CONFIGS) + 1)
    tens = "".join(str(number // 10 or " ") for number in numbers)
    ones = "".join(str(number % 10) for number in numbers)
    yield "```"
    yield f"{'':<{width}}  {tens}   eager ms"
    yield f"{'':<{width}}  {ones}   or status  inductor"
    for benchmark in benchmarks:
        marks = "".join(mark_of(section, benchmark, each, results) for each in CONFIGS.values())
        figures = _figures(section, benchmark, results)
        yield f"{benchmark.name:<{width}}  {marks}  {figures}".rstrip()
    yield "```"


def _figures(section: Section, benchmark: Benchmark, results: ResultByCase) -> str:
    if not any(name == benchmark.name for name, _ in results):
        return f" not run on {section.label}"
    eager_ms = _eager_ms(benchmark, results)
    eager = _eager_status(benchmark, results) if eager_ms is None else f"{eager_ms:.4g}"
    inductor = results.get((benchmark.name, "inductor"))
    if inductor is None or "speedup" not in inductor["metrics"]:
        return f"{eager:>9}"
    return f"{eager:>9}  {inductor['metrics']['speedup']['value']:8.3f}x"


def _eager_ms(benchmark: Benchmark, results: ResultByCase) -> float | None:
    """Eager's latency: of its own case, else of the control of the first config that has one."""
    for (name, config), result in results.items():
        entry = result["metrics"].get("latency_ms" if config == "eager" else "eager_latency_ms")
        if name == benchmark.name and entry:
            return float(entry["value"])
    return None


def _eager_status(benchmark: Benchmark, results: ResultByCase) -> str:
    for (name, _), result in results.items():
        arm = result.get("arms", {}).get("eager")
        if name == benchmark.name and arm:
            return str(arm["status"])
    return "–"


def _failures(halves: dict[Section, ResultByCase]) -> Iterator[str]:
    """One row for each case that did not pass, with its reason."""
    rows = list[str]()
    for section, results in halves.items():
        for (name, config), result in results.items():
            case = f"| {name} | `{config}` | {section.label} |"
            if result["status"] != "pass":
                rows.append(f"{case} {result['status']} | {_reason(result)} |")
            for arm, outcome in result.get("arms", {}).items():
                rows.append(f"{case} {arm}: {outcome['status']} | {_reason(outcome)} |")
    if not rows:
        yield "Nothing."
        return
    yield "| benchmark | config | where | status | reason |"
    yield "|---|---|---|---|---|"
    yield from rows


def _sources() -> Iterator[str]:
    """One row for each model that is taken from somewhere, then the others."""
    yield (
        "The standard size of each model against what it is taken from. What differs everywhere:"
        " weights are drawn, not trained,"
    )
    yield (
        "inputs are random, batches are chosen for one GPU of 80 GB, and the dtype is in the"
        " benchmark's name. The smoke size has"
    )
    yield "the same kinds of layers, fewer and narrower."
    yield ""
    yield "| model | taken from | the same | what differs |"
    yield "|---|---|---|---|"
    for source in published.SOURCES:
        link = f"[{source.name}]({source.address})"
        yield f"| `{source.model}` | {link} | {source.same} | {source.differs} |"
    made_here = ", ".join(f"`{model}`" for model in published.MADE_HERE)
    yield ""
    yield f"Made for this suite, with nothing published to compare: {made_here}."


def _reason(outcome: Document) -> str:
    """Its message on one line of a table."""
    reason = " ".join(str(outcome["message"]).split()).replace("|", "\\|")
    if len(reason) <= REASON_LENGTH:
        return reason
    return f"{reason[: REASON_LENGTH - 1]}…"
