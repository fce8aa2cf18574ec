"""The gate over two sets of result files, by the same pure code with which the site judges."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from compilewatch_client.local_measurement import LocalCase, LocalError, SideName
from dashboard.catalog.core.plan import PlanError, require_known
from dashboard.catalog.core.versions import flavour_note, flavour_of
from dashboard.comparisons.core import gate as gating
from dashboard.comparisons.core.judgement import JUDGED_METRICS
from dashboard.comparisons.core.matching import Key
from dashboard.comparisons.core.sides import side_from_results
from dashboard.language.contracts import Document, Refused
from dashboard.language.metrics import METRICS
from dashboard.results.core.result_format import ResultDocument, parse_result
from dashboard.results.core.untrusted import parse_json

SIDES: tuple[SideName, SideName] = ("base", "new")
Paths = Mapping[SideName, Sequence[Path]]


def check_metrics(metrics: Sequence[str]) -> None:
    """Raise LocalError where one is unknown, before anything is measured."""
    try:
        require_known("metric", metrics, list(METRICS))
    except PlanError as error:
        raise LocalError(str(error)) from None


def decide_gate(results: Paths, metrics: Sequence[str] = ()) -> dict[str, Any]:
    """The gate's answer, as the API gives it.

    Raises LocalError: a file that is not a result.
    """
    base, new = (list(map(read_result, results[name])) for name in SIDES)
    gate = _decide(base, new, metrics)
    keys = [row.case.key for row in gating.rows_with_graph_breaks(gate)]
    before, after = _compile_sections(base), _compile_sections(new)
    gate = gating.with_graph_breaks(gate, {key: (before[key], after[key]) for key in keys})
    names = label("base", base), label("new", new)
    markdown = gating.markdown(
        gate,
        base=names[0],
        new=names[1],
        machine=machine(new),
        notes=[flavour_note(*names, (_flavour(base), _flavour(new)))],
    )
    return {**gating.document(gate), "so_far": "", "markdown": markdown, "url": ""}


def cases_to_measure_again(results: Paths, metrics: Sequence[str] = ()) -> list[LocalCase]:
    """Cases of which a change is likely. Raises LocalError as `decide_gate` does."""
    base, new = (list(map(read_result, results[name])) for name in SIDES)
    keys = _decide(base, new, metrics).judgement.to_measure_again()
    return [LocalCase(*key) for key in sorted(keys)]


def _decide(
    base: Sequence[ResultDocument], new: Sequence[ResultDocument], metrics: Sequence[str]
) -> gating.Gate:
    metrics = list(metrics) or list(JUDGED_METRICS)
    return gating.decide(side_from_results(base), side_from_results(new), metrics)


def _compile_sections(results: Sequence[ResultDocument]) -> dict[Key, Document]:
    """Collect the compile section of the newest passed result of each case."""
    sections = {}
    for result in results:
        if result.status == "pass":
            key = Key(result.benchmark["name"], result.job["config"])
            sections[key] = result.document.get("compile", {})
    return sections


def read_result(path: Path) -> ResultDocument:
    try:
        return parse_result(parse_json(path.read_bytes()))
    except (OSError, Refused) as error:
        raise LocalError(f"{path} is not a result file: {error}") from None


def label(name: str, results: Sequence[ResultDocument]) -> str:
    """The side in words: its torch."""
    if not results:
        return name
    return f"{name} (torch {_torch_version(results)})"


def _torch_version(results: Sequence[ResultDocument]) -> str:
    return str(results[0].environment["torch"]["version"])


def _flavour(results: Sequence[ResultDocument]) -> str:
    return flavour_of(_torch_version(results)) if results else ""


def machine(results: Sequence[ResultDocument]) -> str:
    hardware = results[0].environment["machine"] if results else {}
    return str(hardware.get("gpu") or hardware.get("cpu") or "this machine")
