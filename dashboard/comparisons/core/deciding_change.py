"""The one change that stands for a verdict where there is no room for its sentences. Pure."""

from dataclasses import dataclass

from dashboard.comparisons.core.judgement import Finding, Judgement
from dashboard.comparisons.core.matching import ComparedCase
from dashboard.comparisons.core.metric_effects import EffectVerdict
from dashboard.comparisons.core.upgrade_answer import Recommendation
from dashboard.language.wording import named, without_noun

_FOR_ITS_GAINS: frozenset[Recommendation] = frozenset({"Move", "Move, cold start not known"})


@dataclass(frozen=True, slots=True)
class DecidingChange:
    """case: None of a mean over all cases. metric: its key; empty of a failure."""

    text: str
    case: ComparedCase | None = None
    metric: str = ""


def deciding_change(judgement: Judgement, word: Recommendation) -> DecidingChange | None:
    """The first that the answer names: of what got worse, or of what got better where nothing did.

    None where the verdict is that nothing is known, or that nothing changed.
    """
    if judgement.state == "regression":
        return _first_worse(judgement)
    return _first_better(judgement) if word in _FOR_ITS_GAINS else None


def _first_worse(judgement: Judgement) -> DecidingChange | None:
    for failure in judgement.breaks:
        return DecidingChange(failure.how, failure.case)
    for finding in judgement.of_kind("regression"):
        return _of_finding(finding)
    return _first_mean(judgement, "worse")


def _first_better(judgement: Judgement) -> DecidingChange | None:
    for failure in judgement.repairs:
        return DecidingChange("passes now", failure.case)
    for finding in judgement.of_kind("improvement"):
        # Memory that eager saves as well is no reason to move
        if not finding.is_of_eager:
            return _of_finding(finding)
    return _first_mean(judgement, "better")


def _of_finding(finding: Finding) -> DecidingChange:
    """Without its interval, with what keeps a reader from taking it for more than it is."""
    text = named(finding.metric, _without_interval(finding.effect.change.text))
    if finding.is_of_eager:
        text += ", in eager as well"
    return DecidingChange(text, finding.row.case, finding.metric.key)


def _first_mean(judgement: Judgement, verdict: EffectVerdict) -> DecidingChange | None:
    for mean in judgement.means_of(verdict):
        change = without_noun(_without_interval(mean.change.text))
        return DecidingChange(f"{mean.name} {change} on average", metric=mean.key)
    return None


def _without_interval(text: str) -> str:
    return text.partition(" (")[0]
