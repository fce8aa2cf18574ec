"""A comparison divided into groups of cases, each with its own answer: all, by model and mode, by
family and mode. Pure.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from dashboard.comparisons.core.answer_sentences import (
    deciding_change,
    headline,
    sentences_of,
)
from dashboard.comparisons.core.judgement import (
    JUDGED_METRICS,
    PART_METRICS,
    Finding,
    Judgement,
    judge_sides,
)
from dashboard.comparisons.core.matching import ComparedCase, Side
from dashboard.comparisons.core.means import MetricMean, means_of
from dashboard.comparisons.core.shortfall import Shortfall, shortfall
from dashboard.comparisons.core.tables import Table, compare
from dashboard.judgement.changes import DECIDED, Answer
from dashboard.judgement.words import in_words
from dashboard.language.metrics import COMPILE_CALLS, METRICS
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

    Training and inference are never averaged: what helps one may cost the other.
    sentences: what explains its answer, the weightiest first. Of a model, also what changed without
        a part in it. compile_calls: None where they were not counted.
    """

    name: str
    mode: str
    judgement: Judgement
    sentences: tuple[str, ...]
    compile_calls: MetricMean | None

    @property
    def answer(self) -> Answer:
        return self.judgement.answer

    @property
    def sentence(self) -> str:
        """All of them."""
        return " ".join(self.sentences)

    @property
    def title(self) -> str:
        return f"{self.name} {self.mode}".rstrip()

    @property
    def means(self) -> list[MetricMean]:
        return self.judgement.means

    @property
    def answers(self) -> bool:
        """True if it has a compiled case on both sides, or got worse: eager alone answers nothing
        about compiling.
        """
        return self.steps is not None or self.answer.verdict in ("worse", "mixed")

    @property
    def steps(self) -> MetricMean | None:
        """The mean of its compiled steps."""
        return next((mean for mean in self.means if mean.key == "latency_ms"), None)

    @property
    def shortfall(self) -> Shortfall | None:
        """Measurements still needed until its answer is known."""
        return shortfall(self.judgement)

    @property
    def deciding_change(self) -> Finding | None:
        return deciding_change(self.judgement)

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
    models = _groups(judgement, unjudged, in_order, lambda case: (case.model, case.mode))
    by_title = {group.title: group.judgement for group in models if group.answers}
    return UpgradeReport(
        replace(
            _group(("all", ""), judgement, unjudged),
            sentences=tuple(headline(by_title, judgement)),
        ),
        models=models,
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
    """With its sentences."""
    uncounted = {**_uncounted_device_times(judgement), **unjudged}
    sentences = (*sentences_of(judgement), *_uncounted_sentences(uncounted))
    calls = means_of({COMPILE_CALLS: unjudged[COMPILE_CALLS]})
    return CaseGroup(*name, judgement, sentences, calls[0] if calls else None)


def _uncounted_device_times(judgement: Judgement) -> UnjudgedTables:
    """Select the device times of steps that wait for the CPU as well, where there are any."""
    device = judgement.tables.get("device_ms")
    rows = [row for row in device.rows if not row.counts] if device else []
    return {"device_ms": replace(device, rows=rows)} if device and rows else {}


def _uncounted_sentences(tables: UnjudgedTables) -> Iterator[str]:
    """The metrics that got worse, then those that got better: by how much in a single case, else in
    how many.
    """
    for verdict in sorted(DECIDED, reverse=True):
        changes = []
        for table in tables.values():
            changed = [row for row in table.rows if row.change.verdict == verdict]
            if changed and len(table.rows) == 1:
                changes.append(named(table.metric, in_words(changed[0].change).text))
            elif changed:
                count = f"{len(changed)} of {plural(len(table.rows), 'case')}"
                changes.append(f"{table.metric.label.lower()} in {count}")
        if changes:
            yield f"{verdict.capitalize()}, but not counted: {', '.join(changes)}."
