"""A comparison divided into groups of cases, each with its own answer: all, by model and mode, by
family and mode. Pure.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from dashboard.comparisons.core.judgement import (
    JUDGED_METRICS,
    PART_METRICS,
    Judgement,
    judge_sides,
    judge_together,
)
from dashboard.comparisons.core.matching import ComparedCase, Side, Table, compare
from dashboard.comparisons.core.means import MetricMean, means_of
from dashboard.comparisons.core.shortfall import Shortfall, shortfall
from dashboard.comparisons.core.upgrade_answer import UpgradeAnswer, answer
from dashboard.language.metrics import COMPILE_CALLS, METRICS
from dashboard.language.wording import plural

# What `build_report` needs of each side. Compile calls are shown, and no part of the answer: what
# more of them cost is the cold start
REPORT_METRICS = tuple(dict.fromkeys([*PART_METRICS, *JUDGED_METRICS, COMPILE_CALLS]))

GroupName = tuple[str, str]  # a model or a family, and its mode
NameOf = Callable[[ComparedCase], GroupName]


@dataclass(frozen=True, slots=True)
class CaseGroup:
    """Some of the cases: of one model in one mode, of one family in one mode, or all.

    Training and inference are never averaged: what helps one may cost the other. compile_calls:
    None where they were not counted.
    """

    name: str
    mode: str
    judgement: Judgement
    answer: UpgradeAnswer
    compile_calls: MetricMean | None

    @property
    def title(self) -> str:
        return f"{self.name} {self.mode}".rstrip()

    @property
    def means(self) -> list[MetricMean]:
        return self.judgement.means

    @property
    def answers(self) -> bool:
        """Whether it has a compiled case on both sides, or got worse: eager alone answers nothing
        about compiling.
        """
        return self.steps is not None or self.judgement.state == "regression"

    @property
    def steps(self) -> MetricMean | None:
        """The mean of its compiled steps."""
        return next((mean for mean in self.means if mean.key == "latency_ms"), None)

    @property
    def shortfall(self) -> Shortfall | None:
        """What more to measure until its answer is known."""
        return shortfall(self.judgement)

    def mean_of(self, key: str) -> MetricMean | None:
        if key == COMPILE_CALLS:
            return self.compile_calls
        return next((mean for mean in self.means if mean.key == key), None)


@dataclass(frozen=True, slots=True)
class UpgradeReport:
    """All of a comparison."""

    overall: CaseGroup
    models: list[CaseGroup]
    families: list[CaseGroup]

    @property
    def tables(self) -> dict[str, Table]:
        """By metric."""
        return self.overall.judgement.tables

    @property
    def latency(self) -> Table:
        return self.tables["latency_ms"]


def build_report(
    base: Side, new: Side, *, any_libraries: bool = False, is_complete: bool = False
) -> UpgradeReport:
    """The whole answer. Sides must bring REPORT_METRICS; the options are those of `judge_sides`."""
    judgement = judge_sides(base, new, any_libraries=any_libraries, is_complete=is_complete)
    calls = compare(base, new, METRICS[COMPILE_CALLS], any_libraries=any_libraries)
    cases = {measured.case for measured in (*base.values(), *new.values())}
    in_order = sorted(cases, key=lambda case: case.place)
    return UpgradeReport(
        CaseGroup("all", "", judgement, _answer(judgement, calls), _mean(calls)),
        models=_groups(judgement, calls, in_order, lambda case: (case.model, case.mode)),
        families=_groups(judgement, calls, in_order, lambda case: (case.family, case.mode)),
    )


def _groups(
    judgement: Judgement, calls: Table, cases: Iterable[ComparedCase], name_of: NameOf
) -> list[CaseGroup]:
    """The cases divided by their name, in the order of `cases`."""
    groups = []
    for name in dict.fromkeys(map(name_of, cases)):
        part = judgement.of_cases(lambda case, name=name: name_of(case) == name)  # type: ignore[misc]
        rows = [row for row in calls.rows if name_of(row.case) == name]
        its_calls = replace(calls, rows=rows)
        groups.append(CaseGroup(*name, part, _answer(part, its_calls), _mean(its_calls)))
    return groups


def _answer(judgement: Judgement, calls: Table) -> UpgradeAnswer:
    """The answer, and that more compile calls, if there are, had no part in it."""
    answered = answer(judgement)
    worse = [row.effect for row in calls.rows if row.effect.verdict == "worse"]
    if not worse:
        return answered
    how = worse[0].change.text
    if len(calls.rows) > 1:
        how = f"higher for certain in {len(worse)} of {plural(len(calls.rows), 'case')}"
    sentence = f"Compile calls are {how}, which does not count towards the verdict."
    return replace(answered, sentences=(*answered.sentences, sentence))


def _mean(calls: Table) -> MetricMean | None:
    """Judged by itself; None where nothing has a ratio."""
    tables = {COMPILE_CALLS: calls}
    _, means = judge_together(tables, means_of(tables))
    return means[0] if means else None
