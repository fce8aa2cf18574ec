"""Judges results of two builds, measured in turn, and their cause, as the site would."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dashboard.alerts.core.attribution import attribute
from dashboard.alerts.core.change_facts import ChangeFacts, CodeFingerprints, ObservedChange
from dashboard.alerts.core.confirmation import FEWEST, MOST, ConfirmationOutcome
from dashboard.alerts.selectors.facts import CONTROLS, PHASES, observed_change
from dashboard.language.metrics import METRICS
from dashboard.results.core.environments import environment_differences
from tests.end_to_end.gpu_drill_pairs import Document, sequential_test, state, value


@dataclass(frozen=True)
class Finding:
    """One row: a change that the pairs confirmed or cannot decide yet, or an unfinished group.

    effect: in words.
    evidence: the first for the cause, where it is confirmed; else what the site would do.
    """

    state: Literal["confirmed", "undecided", "unfinished"]
    metric: str
    effect: str
    cause: str
    evidence: str


def findings(
    base: Sequence[Document], new: Sequence[Document], metrics: Sequence[str]
) -> list[Finding]:
    """What differs between two builds, in the metrics that both have."""
    turns = min(len(base), len(new))
    if turns < FEWEST:
        effect = f"{turns} of the {FEWEST} turns that a first look needs"
        action = "`measure` goes on where it stopped."
        return [Finding("unfinished", "not finished", effect, "", action)]
    of_metrics = [_finding(metric, base, new) for metric in metrics]
    return [finding for finding in of_metrics if finding is not None]


def _finding(
    metric: str,
    base: Sequence[Document],
    new: Sequence[Document],
) -> Finding | None:
    outcome = sequential_test(metric, base, new)
    if outcome is None:
        return None
    reached = state(outcome, metric, base)
    if reached == "nothing":
        return None
    if reached == "undecided":
        effect = f"after {outcome.pairs} pairs not decided: {_effect(outcome)}"
        action = "The site would call it inconclusive."
        if outcome.verdict == "open":
            action = f"The site would measure on, up to {MOST} pairs."
        return Finding("undecided", metric, effect, "", action)
    change = None
    if outcome.unit == "percent":
        change = ObservedChange(METRICS[metric].label, outcome.effect, outcome.low, outcome.high)
    cause, evidence = attribute(_facts(metric, change, base, new))
    first = evidence[0].says if evidence else "none"
    return Finding("confirmed", metric, _effect(outcome), cause, first)


def _effect(outcome: ConfirmationOutcome) -> str:
    unit = "%" if outcome.unit == "percent" else ""
    return f"{outcome.effect:+.3g}{unit} ({outcome.low:+.3g} to {outcome.high:+.3g})"


def _facts(
    metric: str, change: ObservedChange | None, base: Sequence[Document], new: Sequence[Document]
) -> ChangeFacts:
    phases = [_moved(key, METRICS[key].label, base, new) for key in PHASES]
    return ChangeFacts(
        metric=metric,
        unit=METRICS[metric].unit,
        change=change,
        eager=False,
        same_build=False,
        confirmed=True,
        control=_moved(CONTROLS.get(metric, ""), "The eager control", base, new),
        code=_code(base, new),
        differences=environment_differences(base[0]["environment"], new[0]["environment"]),
        phases=[phase for phase in phases if phase],
        variant=_variant(new[0]),
        eager_passes="eager" not in new[-1].get("arms", {}) if metric == "passed" else None,
    )


def _variant(document: Document) -> str:
    """What its build sets, as the site says it."""
    variant = document.get("job", {}).get("variant", {})
    settings = {**variant.get("env", {}), **variant.get("inductor", {})}
    return ", ".join(f"{name} = {value}" for name, value in sorted(settings.items()))


def _moved(
    metric: str, name: str, base: Sequence[Document], new: Sequence[Document]
) -> ObservedChange | None:
    if not metric:
        return None
    return observed_change(name, metric, _values(base, metric), _values(new, metric))


def _values(documents: Sequence[Document], metric: str) -> list[float]:
    values = [value(document, metric) for document in documents]
    return [number for number in values if number is not None]


def _code(base: Sequence[Document], new: Sequence[Document]) -> CodeFingerprints | None:
    before, after = _fingerprints(base), _fingerprints(new)
    if not (before and after):
        return None
    return CodeFingerprints(_by_kind(before), _by_kind(after), min(len(before), len(after)))


def _fingerprints(documents: Sequence[Document]) -> list[dict[str, str]]:
    return [each["compile"]["fingerprints"] for each in documents if "compile" in each]


def _by_kind(fingerprints: Sequence[dict[str, str]]) -> dict[str, frozenset[str]]:
    """Each kind of code -> the fingerprints that it had."""
    by_kind = {}
    for kind in fingerprints[0]:
        by_kind[kind] = frozenset(each[kind] for each in fingerprints if each.get(kind))
    return by_kind
