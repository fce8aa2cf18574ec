"""A release candidate against the last release: safe, not safe or not known, for each model. Pure.

The words are those of the one judgement (judgement.py), and never firmer: safe is what it passed,
not safe is where it has a regression, and all else is not known. So is a model of which nothing
compiled was measured on both builds, and every model where the candidate could not be installed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from dashboard.comparisons.core.judgement import BOUND, State
from dashboard.comparisons.core.upgrade_groups import CaseGroup, UpgradeReport
from dashboard.language.wording import Tone

Safety = Literal["not safe", "not known", "safe"]
# What needs a decision comes first
SAFETIES: tuple[Safety, ...] = get_args(Safety)
TONES: dict[Safety, Tone] = {"not safe": "bad", "not known": "none", "safe": "good"}
_OF_STATE: dict[State, Safety] = {
    "regression": "not safe",
    "unknown": "not known",
    "passed": "safe",
}
NOT_COMPILED = "No compiled case of it was measured on both builds."
NOTHING_MEASURED = "Nothing was measured on both builds."
WHAT_IT_MEANS = (
    "“Safe” means that nothing that counts towards the verdict got significantly worse, and that "
    f"none of it can be worse by more than {BOUND:g} times its metric's threshold; a step that "
    "scatters while it waits for the GPU goes by the GPU's own time. It says nothing about other "
    "models and machines."
)


@dataclass(frozen=True, slots=True)
class ModelVerdict:
    """One model in one mode. sentences: why, the weightiest first."""

    title: str
    safety: Safety
    sentences: tuple[str, ...]

    @property
    def tone(self) -> Tone:
        return TONES[self.safety]


@dataclass(frozen=True, slots=True)
class CandidateVerdicts:
    """models: what needs a decision first. why_none: why there is none; else empty."""

    models: list[ModelVerdict]
    why_none: str = ""

    def of(self, safety: Safety) -> list[ModelVerdict]:
        return [model for model in self.models if model.safety == safety]

    @property
    def counts(self) -> list[tuple[Safety, Tone, int]]:
        """The words that occur, each with how many models in a mode have it."""
        numbers = [(safety, TONES[safety], len(self.of(safety))) for safety in SAFETIES]
        return [each for each in numbers if each[2]]

    @property
    def text(self) -> str:
        """ "not safe for 1, not known for 2, safe for 5 models"."""
        words = [f"{safety} for {number}" for safety, _, number in self.counts]
        if not words:
            return "not known"
        last = self.counts[-1][2]
        return f"{', '.join(words)} {'model' if last == 1 else 'models'}"


def verdicts_of(report: UpgradeReport, *, why_not_installed: str = "") -> CandidateVerdicts:
    """Every model of the report. why_not_installed: of the candidate on that machine, in words."""
    if why_not_installed:
        titles = [group.title for group in report.models]
        unknown = [ModelVerdict(title, "not known", (why_not_installed,)) for title in titles]
        return CandidateVerdicts(unknown, why_none="" if unknown else why_not_installed)
    models = [_verdict(group) for group in report.models]
    models.sort(key=lambda model: SAFETIES.index(model.safety))
    return CandidateVerdicts(models, why_none="" if models else NOTHING_MEASURED)


def safety_of(group: CaseGroup) -> Safety:
    """What the judgement of these cases says of moving to the new build."""
    return _OF_STATE[group.judgement.state] if group.answers else "not known"


def _verdict(group: CaseGroup) -> ModelVerdict:
    sentences: Sequence[str] = group.answer.sentences if group.answers else (NOT_COMPILED,)
    return ModelVerdict(group.title, safety_of(group), tuple(sentences))
