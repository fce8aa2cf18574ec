"""Judges results of two builds that were measured in turn as the site judges a confirmation, and
tells the cause.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dashboard.alerts.core.attribution import (
    ChangeFacts,
    CodeFingerprints,
    ObservedChange,
    attribute,
)
from dashboard.alerts.core.confirmation import FEWEST, MOST, ConfirmationOutcome
from dashboard.alerts.selectors.facts import CONTROLS, PHASES, observed_change
from dashboard.language.metrics import METRICS
from dashboard.results.core.environments import environment_differences
from tests.end_to_end.gpu_drill_pairs import Document, looked, state, value


@dataclass(frozen=True)
class Finding:
    """One row: a change in a metric that the pairs confirmed or cannot decide yet, or a group that
    is not finished.

    effect in words; cause and its first evidence where it is confirmed, else what the site would
    do.
    """

    state: Literal["confirmed", "undecided", "unfinished"]
    metric: str
    effect: str
    cause: str
    evidence: str


def findings(
    base: Sequence[Document], new: Sequence[Document], metrics: Sequence[str]
) -> list[Finding]:
    """What there is to tell between two builds, of the metrics that both have."""
    turns = min(len(base), len(new))
    if turns < FEWEST:
        told = f"{turns} of the {FEWEST} turns that a first look needs"
        return [
            Finding("unfinished", "not finished", told, "", "`measure` goes on where it stopped.")
        ]
    found = [_finding(metric, base, new) for metric in metrics]
    return [one for one in found if one is not None]


def _finding(metric: str, base: Sequence[Document], new: Sequence[Document]) -> Finding | None:
    outcome = looked(metric, base, new)
    told = state(outcome, metric, base) if outcome else "nothing"
    if outcome is None or told == "nothing":
        return None
    if told == "undecided":
        says = f"after {outcome.pairs} pairs not decided: {_effect(outcome)}"
        more = outcome.verdict == "open"
        on = (
            f"The site would measure on, up to {MOST} pairs."
            if more
            else "The site would call it inconclusive."
        )
        return Finding("undecided", metric, says, "", on)
    percent = outcome.unit == "percent"
    change = (
        ObservedChange(METRICS[metric].label, outcome.effect, outcome.low, outcome.high)
        if percent
        else None
    )
    cause, evidence = attribute(_facts(metric, change, base, new))
    return Finding(
        "confirmed", metric, _effect(outcome), cause, evidence[0].says if evidence else "none"
    )


def _effect(outcome: ConfirmationOutcome) -> str:
    unit = " %" if outcome.unit == "percent" else ""
    return f"{outcome.effect:+.3g}{unit} ({outcome.low:+.3g} to {outcome.high:+.3g})"


def _facts(
    metric: str, change: ObservedChange | None, base: Sequence[Document], new: Sequence[Document]
) -> ChangeFacts:
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
        phases=[one for key in PHASES if (one := _moved(key, METRICS[key].label, base, new))],
        eager_passes="eager" not in new[-1].get("arms", {}) if metric == "passed" else None,
    )


def _moved(
    metric: str, name: str, base: Sequence[Document], new: Sequence[Document]
) -> ObservedChange | None:
    before, after = (
        [found for one in side if (found := value(one, metric)) is not None] for side in (base, new)
    )
    return observed_change(name, metric, before, after) if metric else None


def _code(base: Sequence[Document], new: Sequence[Document]) -> CodeFingerprints | None:
    sides = [
        [one["compile"]["fingerprints"] for one in side if "compile" in one] for side in (base, new)
    ]
    if not all(sides):
        return None
    before, after = (
        {kind: frozenset(f[kind] for f in side if f.get(kind)) for kind in side[0]}
        for side in sides
    )
    return CodeFingerprints(before, after, min(map(len, sides)))
