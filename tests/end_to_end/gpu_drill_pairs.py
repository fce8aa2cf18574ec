"""What pairs of results of two builds say: the sequential test of a confirmation. No Django."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from benchmarks_suite.harness import recorded
from dashboard.alerts.core.confirmation import FEWEST, ConfirmationOutcome, Pair, compare_pairs
from dashboard.detection import compare_levels
from dashboard.language.metrics import METRICS, STATUS_METRIC
from dashboard.results.core.series_points import settings_of

Document = Mapping[str, Any]
State = Literal["confirmed", "undecided", "nothing"]
KEPT = ".jsonl.gz"


def labels(group: Path) -> set[str]:
    """The builds of a group: folders of results, or kept files NAME.jsonl.gz."""
    builds = [path for path in group.iterdir() if path.is_dir() or path.name.endswith(KEPT)]
    return {path.name.removesuffix(KEPT) for path in builds}


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


def sequential_test(
    metric: str, base: Sequence[Document], new: Sequence[Document]
) -> ConfirmationOutcome | None:
    """Of the turns that have the metric on both sides; None where no turn has."""
    pairs = list[Pair]()
    for base_document, new_document in zip(base, new, strict=False):
        before, after = value(base_document, metric), value(new_document, metric)
        if before is not None and after is not None:
            pairs.append((before, after))
    if not pairs:
        return None
    settings = settings_of(METRICS[metric])
    suspected = compare_levels(
        [before for before, _ in pairs], [after for _, after in pairs], settings
    ).effect
    return compare_pairs(pairs, suspected, settings)


def state(outcome: ConfirmationOutcome, metric: str, base: Sequence[Document]) -> State:
    """Whether there is something to report; an effect too small to report is nothing."""
    least = 0.0
    if outcome.unit == "percent":
        least = METRICS[metric].threshold_percent
        level = max((abs(value(each, metric) or 0.0) for each in base), default=0.0)
        if level:
            least = max(least, 100 * METRICS[metric].least / level)
    if outcome.verdict == "not_reproduced" or abs(outcome.effect) < least:
        return "nothing"
    return "confirmed" if outcome.verdict == "confirmed" else "undecided"


def wants_more(group: Path, base: str, metrics: Mapping[str, Sequence[str]]) -> bool:
    """Whether the site would measure one more pair.

    metrics: label of a build -> those in which it is looked at.
    """
    before = read(group, base)
    for label, of_label in metrics.items():
        after = read(group, label)
        if any(_open(metric, before, after) for metric in of_label):
            return True
    return False


def _open(metric: str, base: Sequence[Document], new: Sequence[Document]) -> bool:
    outcome = sequential_test(metric, base, new)
    if outcome is None or outcome.pairs < FEWEST:
        return outcome is not None
    return outcome.verdict == "open" and state(outcome, metric, base) == "undecided"
