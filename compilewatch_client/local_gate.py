"""The gate over two sets of result files, by the same pure code with which the site judges."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from compilewatch_client.local_measurement import LocalError
from dashboard.catalog.core.plan import PlanError, require_known
from dashboard.comparisons.core import gate as gating
from dashboard.comparisons.core.sides import side
from dashboard.language.contracts import Refused
from dashboard.language.metrics import METRICS
from dashboard.results.core.result_format import ResultDocument, parse_json, parse_result


def decide_gate(
    base: Sequence[Path], new: Sequence[Path], metrics: Sequence[str] = ()
) -> dict[str, Any]:
    """The gate's answer, as the API gives it.

    Raises LocalError: an unknown metric, or a file that is not a result.
    """
    metrics = list(metrics) or list(gating.METRICS_OF_A_GATE)
    try:
        require_known("metric", metrics, list(METRICS))
    except PlanError as error:
        raise LocalError(str(error)) from None
    base_results = [read_result(path) for path in base]
    new_results = [read_result(path) for path in new]
    gate = gating.decide(side(base_results), side(new_results), metrics)
    markdown = gating.markdown(
        gate,
        base=label("base", base_results),
        new=label("new", new_results),
        machine=machine(new_results),
    )
    return {**gating.document(gate), "markdown": markdown, "url": ""}


def read_result(path: Path) -> ResultDocument:
    try:
        return parse_result(parse_json(path.read_bytes()))
    except (OSError, Refused) as error:
        raise LocalError(f"{path} is not a result file: {error}") from None


def label(name: str, results: Sequence[ResultDocument]) -> str:
    """The side in words: its torch."""
    if not results:
        return name
    version = results[0].environment["torch"]["version"]
    return f"{name} (torch {version})"


def machine(results: Sequence[ResultDocument]) -> str:
    hardware = results[0].environment["machine"] if results else {}
    return str(hardware.get("gpu") or hardware.get("cpu") or "this machine")
