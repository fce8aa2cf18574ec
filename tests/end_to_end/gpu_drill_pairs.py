"""What pairs of results say, of two builds that were measured in turn: a confirmation's sequential
test. No Django.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from benchmarks_suite.harness import recorded
from dashboard.alerts.core.confirmation import FEWEST, ConfirmationOutcome, Pair, compare_pairs
from dashboard.detection import judge
from dashboard.language.metrics import METRICS, STATUS_METRIC
from dashboard.results.core.series_points import settings_of

Document = Mapping[str, Any]
State = Literal["confirmed", "undecided", "nothing"]
KEPT = ".jsonl.gz"


def labels(group: Path) -> set[str]:
    """The builds of a group: folders of results, or kept files NAME.jsonl.gz."""
    return {
        path.name.removesuffix(KEPT)
        for path in group.iterdir()
        if path.is_dir() or path.name.endswith(KEPT)
    }


def read(group: Path, label: str) -> list[Document]:
    """The results of one build, in the order of the turns; none where there are none yet."""
    kept = group / f"{label}{KEPT}"
    return list(recorded.read(kept if kept.exists() else group / label))


def value(document: Document, metric: str) -> float | None:
    """None where the result does not have the metric."""
    if metric == STATUS_METRIC:
        return float(document["status"] == "pass")
    entry = document["metrics"].get(metric)
    return float(entry["value"]) if entry else None


def looked(
    metric: str, base: Sequence[Document], new: Sequence[Document]
) -> ConfirmationOutcome | None:
    """What the sequential test says of the turns that have the metric on both sides; None where no
    turn has.
    """
    turns = (
        (value(before, metric), value(after, metric))
        for before, after in zip(base, new, strict=False)
    )
    pairs: list[Pair] = [
        (before, after) for before, after in turns if before is not None and after is not None
    ]
    if not pairs:
        return None
    settings = settings_of(METRICS[metric])
    suspected = judge(
        [before for before, _ in pairs], [after for _, after in pairs], settings
    ).effect
    return compare_pairs(pairs, suspected, settings)


def state(outcome: ConfirmationOutcome, metric: str, base: Sequence[Document]) -> State:
    """Whether there is something to tell; what is smaller than is worth telling is nothing,
    whatever may come.
    """
    known, least = METRICS[metric], 0.0
    if outcome.unit == "percent":
        level = max((abs(value(one, metric) or 0.0) for one in base), default=0.0)
        least = max(known.threshold_percent, 100 * known.least / level if level else 0.0)
    if outcome.verdict == "not_reproduced" or abs(outcome.effect) < least:
        return "nothing"
    return "confirmed" if outcome.verdict == "confirmed" else "undecided"


def wants_more(group: Path, base: str, metrics: Mapping[str, Sequence[str]]) -> bool:
    """Whether the site would measure one more pair: of a build (label -> its metrics) in one of its
    metrics.
    """
    before = read(group, base)
    return any(
        _open(metric, before, read(group, label))
        for label, asked in metrics.items()
        for metric in asked
    )


def _open(metric: str, base: Sequence[Document], new: Sequence[Document]) -> bool:
    outcome = looked(metric, base, new)
    if outcome is None or outcome.pairs < FEWEST:
        return outcome is not None
    return outcome.verdict == "open" and state(outcome, metric, base) == "undecided"
