"""A comparison as one verdict a row: a model in a mode, its numbers, and what is missing."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from dashboard.comparisons.core.answer_sentences import weight
from dashboard.comparisons.core.matching import Key
from dashboard.comparisons.core.means import MetricMean
from dashboard.comparisons.core.shortfall import Shortfall
from dashboard.comparisons.core.upgrade_groups import CaseGroup, UpgradeReport
from dashboard.comparisons.core.upgrade_report import CaseKernels
from dashboard.judgement.changes import SetVerdict
from dashboard.language.metrics import COMPILE_CALLS
from dashboard.results.core.known_changes import KnownChange, KnownCost
from dashboard.runs.selectors.runs import seconds_by_case

# What people decide by: the whole step, the GPU in it, the start and the calls in it, memory,
# exactness
_COLUMNS = (
    "latency_ms",
    "device_ms",
    "cold_start_s",
    COMPILE_CALLS,
    "peak_memory_gb",
    "drift",
)

_LONGEST_QUERY = 7500  # of the 8190 characters of a request's first line


@dataclass(frozen=True, slots=True)
class Need:
    """Measurements that a row needs until it has a verdict.

    seconds: of both builds together, by how long the cases took before; None where that is not
    known. query: of the form that measures it.
    """

    shortfall: Shortfall
    seconds: float | None
    query: str


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model in one mode. cells: in the order of ModelTable.columns; None: not measured."""

    group: CaseGroup
    cells: list[MetricMean | None]
    need: Need | None
    kernels: list[CaseKernels]
    is_starred: bool

    @property
    def known(self) -> list[KnownChange | KnownCost]:
        """Known changes, then known costs, of the kernels of its cases, each once."""
        changes = [change for of in self.kernels for change in of.known_changes]
        costs = [cost for of in self.kernels for cost in of.known_costs]
        return list(dict.fromkeys([*changes, *costs]))

    @property
    def is_changed(self) -> bool:
        """True if anything of it got worse or better, whatever else is unclear."""
        return self.group.deciding_change is not None or self.group.answer.verdict in (
            "worse",
            "mixed",
            "better",
        )

    @property
    def is_measurable(self) -> bool:
        """True if measuring more would bring a verdict."""
        return self.need is not None and bool(self.need.shortfall.cases)


@dataclass(frozen=True, slots=True)
class MoreRuns:
    """Runs that would decide several rows. seconds, query: as of a Need; no query where an address
    cannot hold it.
    """

    rows: int
    seconds: float | None
    query: str


@dataclass(frozen=True, slots=True)
class ModelTable:
    """columns: metrics that any row has. totals: means over all cases, in the order of columns.
    tally: the rows by their verdicts. left_out: models without a compiled case on both sides.
    """

    columns: list[str]
    totals: list[MetricMean | None]
    rows: list[ModelRow]
    tally: dict[SetVerdict, int]
    left_out: list[str]


def model_table(
    report: UpgradeReport, kernels: Iterable[CaseKernels], machine: int, starred: Collection[str]
) -> ModelTable:
    """Tabulate models, those that need a decision first. One query, where something is missing."""
    matched = [group for group in report.models if group.answers]
    matched.sort(key=lambda group: weight(group.judgement))
    columns = [key for key in _COLUMNS if any(group.mean_of(key) for group in matched)]
    needs = _needs(matched, machine)
    of_case = {each.row.case.key: each for each in kernels}
    rows = []
    for group in matched:
        row = ModelRow(
            group,
            cells=[group.mean_of(key) for key in columns],
            need=needs.get(group.title),
            kernels=_kernels_of(group, of_case),
            is_starred=group.name in starred,
        )
        rows.append(row)
    return ModelTable(
        columns,
        [report.overall.mean_of(key) for key in columns],
        rows,
        dict(Counter(group.answer.verdict for group in matched)),
        left_out=[group.title for group in report.models if not group.answers],
    )


def more_runs(rows: Iterable[ModelRow]) -> MoreRuns | None:
    """Combine the needs of all rows that more pairs would decide; None where there are none."""
    needs = [row.need for row in rows if row.need and row.is_measurable]
    if not needs:
        return None
    cases = [case for need in needs for case in need.shortfall.cases]
    durations = [need.seconds for need in needs if need.seconds is not None]
    seconds = sum(durations) if len(durations) == len(needs) else None
    query = _query(cases, max(need.shortfall.pairs for need in needs))
    return MoreRuns(len(needs), seconds, query if len(query) <= _LONGEST_QUERY else "")


def _kernels_of(group: CaseGroup, of_case: Mapping[Key, CaseKernels]) -> list[CaseKernels]:
    keys = {finding.row.case.key for finding in group.judgement.findings}
    return [kernels for key, kernels in of_case.items() if key in keys]


def _needs(groups: Sequence[CaseGroup], machine: int) -> dict[str, Need]:
    """By the group's title."""
    shortfalls = {}
    for group in groups:
        shortfall = group.shortfall
        if shortfall is not None:
            shortfalls[group.title] = shortfall
    if not shortfalls:
        return {}
    seconds = seconds_by_case(machine)
    return {title: _need(shortfall, seconds) for title, shortfall in shortfalls.items()}


def _need(shortfall: Shortfall, seconds: Mapping[tuple[str, str], float]) -> Need:
    query = _query(shortfall.cases, shortfall.pairs)
    cases = [(key.benchmark, key.config) for key in shortfall.cases]
    if not all(case in seconds for case in cases):
        return Need(shortfall, None, query)
    pair_s = 2 * sum(seconds[case] for case in cases)
    return Need(shortfall, shortfall.pairs * pair_s, query)


def _query(cases: Iterable[Key], repeats: int) -> str:
    """Build the query of the form that measures them."""
    every = list(cases)
    benchmarks = ",".join(sorted({key.benchmark for key in every}))
    configs = ",".join(sorted({key.config for key in every}))
    return urlencode({"benchmarks": benchmarks, "configs": configs, "repeats": repeats}, safe=",")
