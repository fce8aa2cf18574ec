"""A release candidate against the last release, model by model. Pure.

A model is unclear of which nothing compiled was measured on both builds, and every model is where
the candidate could not be installed.
"""

from collections import Counter
from dataclasses import dataclass

from dashboard.comparisons.core.upgrade_groups import CaseGroup, UpgradeReport
from dashboard.judgement.changes import Grade, SetVerdict
from dashboard.judgement.words import ORDER

NOT_COMPILED = "No compiled case of it was measured on both builds."
NOTHING_MEASURED = "Nothing was measured on both builds."
WHAT_IT_MEANS = (
    "“Same” and “better” mean that nothing got worse by more than its metric's threshold. Other "
    "models and machines may do otherwise."
)


@dataclass(frozen=True, slots=True)
class ModelVerdict:
    """One model in one mode. sentences: why, the weightiest first."""

    title: str
    verdict: SetVerdict
    grade: Grade | None
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CandidateVerdicts:
    """models: what needs a decision first. why_none: why there is none; else empty."""

    models: list[ModelVerdict]
    why_none: str = ""

    def of(self, verdict: SetVerdict) -> list[ModelVerdict]:
        return [model for model in self.models if model.verdict == verdict]

    @property
    def text(self) -> str:
        """ "worse for 1, unclear for 2, same for 5 models"."""
        counts = Counter(model.verdict for model in self.models)
        words = [f"{word} for {counts[word]}" for word in ORDER if counts[word]]
        if not words:
            return "unclear"
        last = words[-1].rpartition(" ")[2]
        return f"{', '.join(words)} {'model' if last == '1' else 'models'}"


def verdicts_of(report: UpgradeReport, *, why_not_installed: str = "") -> CandidateVerdicts:
    """Every model of the report. why_not_installed: of the candidate on that machine, in words."""
    if why_not_installed:
        titles = [group.title for group in report.models]
        unclear = [ModelVerdict(title, "unclear", None, (why_not_installed,)) for title in titles]
        return CandidateVerdicts(unclear, why_none="" if unclear else why_not_installed)
    models = [_verdict(group) for group in report.models]
    models.sort(key=lambda model: ORDER.index(model.verdict))
    return CandidateVerdicts(models, why_none="" if models else NOTHING_MEASURED)


def _verdict(group: CaseGroup) -> ModelVerdict:
    if not group.answers:
        return ModelVerdict(group.title, "unclear", None, (NOT_COMPILED,))
    return ModelVerdict(group.title, group.answer.verdict, group.answer.grade, group.sentences)
