"""What two folders of results say, by the same pure code with which the site judges."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from compilewatch_client.local import LocalError
from dashboard.catalog.core.plan import PlanError, require_known
from dashboard.comparisons.core import gate as gating
from dashboard.comparisons.core.sides import side_from_results
from dashboard.language.contracts import Refused
from dashboard.language.metrics import METRICS
from dashboard.results.core.result_format import ResultDocument, parse_json, parse_result


def judge(base: Sequence[Path], new: Sequence[Path], metrics: Sequence[str] = ()) -> dict[str, Any]:
    """The gate's answer, as the API's. Raises LocalError: an unknown metric, or a file that is no
    result.
    """
    judged = list(metrics) or list(gating.GATED_METRICS)
    try:
        require_known("metric", judged, list(METRICS))
    except PlanError as error:
        raise LocalError(str(error)) from None
    old, fresh = [read(path) for path in base], [read(path) for path in new]
    gate = gating.decide(side_from_results(old), side_from_results(fresh), judged)
    text = gating.markdown(
        gate, base=label(old, "base"), new=label(fresh, "new"), machine=machine(fresh)
    )
    return {**gating.document(gate), "markdown": text, "url": ""}


def read(path: Path) -> ResultDocument:
    try:
        return parse_result(parse_json(path.read_bytes()))
    except (OSError, Refused) as error:
        raise LocalError(f"{path} is no result file: {error}") from None


def label(results: Sequence[ResultDocument], name: str) -> str:
    """The side in words: its torch."""
    return f"{name} (torch {results[0].environment['torch']['version']})" if results else name


def machine(results: Sequence[ResultDocument]) -> str:
    told = results[0].environment["machine"] if results else {}
    return str(told.get("gpu") or told.get("cpu") or "this machine")
