"""A comparison divided into groups of cases, each with its own answer: all, by model and mode, by
family and mode. Pure.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from dashboard.comparisons.core.deciding_change import DecidingChange, deciding_change
from dashboard.comparisons.core.judgement import (
    JUDGED_METRICS,
    PART_METRICS,
    Judgement,
    judge_sides,
    judge_together,
)
from dashboard.comparisons.core.matching import (
    ComparedCase,
    ComparisonRow,
    Side,
    Table,
    compare,
)
from dashboard.comparisons.core.means import MetricMean, means_of
from dashboard.comparisons.core.shortfall import Shortfall, shortfall
from dashboard.comparisons.core.upgrade_answer import UpgradeAnswer, answer
from dashboard.language.metrics import COMPILE_CALLS, METRICS, Metric
from dashboard.language.wording import named, plural

# The less the better, too. Named where they changed, but no part of the answer: the first shows in
# the cold start, the next two in the latency, which are
UNJUDGED_METRICS = (COMPILE_CALLS, "overhead_us", "host_ms", "host_memory_gb")
# What `build_report` needs of each side
REPORT_METRICS = tuple(dict.fromkeys([*PART_METRICS, *JUDGED_METRICS, *UNJUDGED_METRICS]))

GroupName = tuple[str, str]  # a model or a family, and its mode
NameOf = Callable[[ComparedCase], GroupName]
UnjudgedTables = Mapping[str, Table]  # by metric of UNJUDGED_METRICS, each judged by itself


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

    @property
    def deciding_change(self) -> DecidingChange | None:
        """What its verdict comes from, in a few words."""
        return deciding_change(self.judgement, self.answer.word)

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
    unjudged = {}
    for key in UNJUDGED_METRICS:
        unjudged[key] = compare(base, new, METRICS[key], any_libraries=any_libraries)
    cases = {measured.case for measured in (*base.values(), *new.values())}
    in_order = sorted(cases, key=lambda case: case.place)
    return UpgradeReport(
        _group(("all", ""), judgement, unjudged),
        models=_groups(judgement, unjudged, in_order, lambda case: (case.model, case.mode)),
        families=_groups(judgement, unjudged, in_order, lambda case: (case.family, case.mode)),
    )


def _groups(
    judgement: Judgement, unjudged: UnjudgedTables, cases: Iterable[ComparedCase], name_of: NameOf
) -> list[CaseGroup]:
    """The cases divided by their name, in the order of `cases`."""
    groups = []
    for name in dict.fromkeys(map(name_of, cases)):
        part = judgement.of_cases(lambda case, name=name: name_of(case) == name)  # type: ignore[misc]
        tables = {}
        for key, table in unjudged.items():
            rows = [row for row in table.rows if name_of(row.case) == name]
            tables[key] = replace(table, rows=rows)
        groups.append(_group(name, part, tables))
    return groups


def _group(name: GroupName, judgement: Judgement, unjudged: UnjudgedTables) -> CaseGroup:
    """With its answer, and what changed and had no part in it."""
    answered = answer(judgement)
    uncounted = {**_uncounted_device_times(judgement), **unjudged}
    sentences = (*answered.sentences, *_uncounted_sentences(uncounted))
    compile_calls = _mean(unjudged[COMPILE_CALLS])
    return CaseGroup(*name, judgement, replace(answered, sentences=sentences), compile_calls)


def _uncounted_device_times(judgement: Judgement) -> UnjudgedTables:
    """Those of steps that wait for the CPU as well, where there are any."""
    device = judgement.tables.get("device_ms")
    rows = [row for row in device.rows if not row.counts] if device else []
    return {"device_ms": replace(device, rows=rows)} if device and rows else {}


def _uncounted_sentences(tables: UnjudgedTables) -> Iterator[str]:
    """The metrics that got worse, then those that got better: by how much in a single case, else in
    how many.
    """
    for verdict in ("worse", "better"):
        changes = []
        for table in tables.values():
            changed = [row for row in table.rows if row.effect.verdict == verdict]
            if changed and len(table.rows) == 1:
                changes.append(_change_of(table.metric, changed[0]))
            elif changed:
                count = f"{len(changed)} of {plural(len(table.rows), 'case')}"
                changes.append(f"{table.metric.label.lower()} in {count}")
        if changes:
            title = f"{verdict.capitalize()} for certain, but not counted towards the verdict"
            yield f"{title}: {', '.join(changes)}."


def _change_of(metric: Metric, row: ComparisonRow) -> str:
    change = named(metric, row.effect.change.text)
    return change if row.step_share is None else f"{change}, {row.step_share:.0f}% of the step"


def _mean(calls: Table) -> MetricMean | None:
    """Judged by itself; None where nothing has a ratio."""
    tables = {COMPILE_CALLS: calls}
    _, means = judge_together(tables, means_of(tables))
    return means[0] if means else None
