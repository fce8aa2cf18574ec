"""Should we upgrade, and what will it cost? A judgement as an answer in words. Pure."""

from dataclasses import dataclass
from typing import Literal, get_args

from dashboard.comparisons.core.judgement import STEP_TIMES, Finding, Judgement
from dashboard.comparisons.core.upgrade_sentences import sentences_of
from dashboard.language.wording import Tone

Recommendation = Literal[
    "Stay: new failures",
    "Stay",
    "It depends",
    "Longer cold start",
    "Move, at a cost",
    "Move",
    "Move, cold start not known",
    "No change",
    "No regression found",
    "No regression found, cold start not known",
    "Not enough data",
]

# What needs a decision comes first, what is not known last
VERDICTS: tuple[Recommendation, ...] = get_args(Recommendation)
_TONES: dict[Recommendation, Tone] = {
    "Move": "good",
    "Move, at a cost": "good",
    "Stay": "bad",
    "Stay: new failures": "bad",
}
UNKNOWN: Recommendation = "Not enough data"
NOTHING_MEASURED = "No case was measured on both sides."


@dataclass(frozen=True, slots=True)
class UpgradeAnswer:
    """A recommendation in a word or two, and what explains it, the weightiest sentence first."""

    word: Recommendation
    tone: Tone
    sentences: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """All of them."""
        return " ".join(self.sentences)


def answer(judgement: Judgement) -> UpgradeAnswer:
    """What to do, from what is known. The word is a regression's exactly where the judgement's
    state is: Stay, It depends, Longer cold start, or Move at a cost.
    """
    word = _recommendation(judgement)
    sentences = tuple(sentences_of(judgement)) or (NOTHING_MEASURED,)
    return UpgradeAnswer(word, _TONES.get(word, "none"), sentences)


def _recommendation(judgement: Judgement) -> Recommendation:
    if judgement.state == "regression":
        return _despite_regressions(judgement)
    if judgement.state == "unknown" and not _only_starts_open(judgement):
        return UNKNOWN
    # It is the same whether no process measured a start or too few
    is_start_known = judgement.state == "passed" and not judgement.without_start
    if judgement.gains:
        return "Move" if is_start_known else "Move, cold start not known"
    if not is_start_known:
        return "No regression found, cold start not known"
    is_same = all(finding.kind == "unchanged" for finding in judgement.findings)
    return "No change" if is_same else "No regression found"


def _despite_regressions(judgement: Judgement) -> Recommendation:
    if judgement.breaks:
        return "Stay: new failures"
    if not judgement.gains:
        return "Longer cold start" if _worse_metrics(judgement) == {"cold_start_s"} else "Stay"
    return "Move, at a cost" if _only_steps_gain(judgement) else "It depends"


def _only_starts_open(judgement: Judgement) -> bool:
    """Whether all that is not known is how long some cases take to their first step, next to steps
    that are known.

    One that is suspected to be longer leaves Move, or Move at a cost, where steps gain alone.
    """
    if judgement.undecided or any(out.lacks_data for out in judgement.absent):
        return False
    if not any(finding.is_step for finding in judgement.findings):
        return False
    suspected = judgement.of_kind("suspected")
    unknown = judgement.of_kind("open") + suspected
    is_of_starts = all(finding.metric.key == "cold_start_s" for finding in unknown)
    return is_of_starts and (not suspected or _only_steps_gain(judgement))


def _only_steps_gain(judgement: Judgement) -> bool:
    """Whether steps got better, and only other things worse: steps are what an upgrade is for.

    A step that is only suspected to be worse is enough for a no.
    """
    if any(_is_worse_step(finding) for finding in judgement.suspected):
        return False
    better = {finding.metric.key for finding in judgement.of_kind("improvement")}
    better |= {mean.key for mean in judgement.means_of("better")}
    return bool(STEP_TIMES & better) and not STEP_TIMES & _worse_metrics(judgement)


def _worse_metrics(judgement: Judgement) -> set[str]:
    """The keys of those in which something got worse for certain."""
    worse = {finding.metric.key for finding in judgement.of_kind("regression")}
    return worse | {mean.key for mean in judgement.means_of("worse")}


def _is_worse_step(finding: Finding) -> bool:
    return finding.effect.suspected == "worse" and finding.is_step
