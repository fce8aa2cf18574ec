"""A comparison as one verdict a row: a model in a mode, its numbers, and what is missing."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from dashboard.comparisons.core.matching import Key
from dashboard.comparisons.core.means import MetricMean
from dashboard.comparisons.core.shortfall import Shortfall
from dashboard.comparisons.core.upgrade_groups import CaseGroup, UpgradeReport
from dashboard.comparisons.core.upgrade_report import CaseKernels
from dashboard.judgement.changes import SetVerdict
from dashboard.judgement.words import ORDER
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


@dataclass(frozen=True, slots=True)
class Need:
    """What to measure until a row has a verdict.

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
        """What is known of the kernels of its cases, each once: changes, then costs."""
        changes = [change for of in self.kernels for change in of.known_changes]
        costs = [cost for of in self.kernels for cost in of.known_costs]
        return list(dict.fromkeys([*changes, *costs]))

    @property
    def is_measurable(self) -> bool:
        """Whether measuring more would bring a verdict."""
        return self.need is not None and bool(self.need.shortfall.cases)

    @property
    def has_interval(self) -> bool:
        """Whether anything was measured often enough to say how sure its number is."""
        return any(cell is not None and cell.mean.has_interval for cell in self.cells)

    @property
    def slowdown(self) -> float:
        """In logs, of the GPU's time where it counts, else of the step."""
        mean = self.group.mean_of("device_ms")
        if mean is None or not mean.counts:
            mean = self.group.mean_of("latency_ms")
        return mean.mean.effect if mean else 0.0


@dataclass(frozen=True, slots=True)
class ModelTable:
    """columns: metrics that any row has. tally: the rows by their verdicts. left_out:
    models without a compiled case on both sides.
    """

    columns: list[str]
    rows: list[ModelRow]
    tally: dict[SetVerdict, int]
    left_out: list[str]

    @property
    def measurable(self) -> int:
        """Rows that more pairs would decide."""
        return sum(row.is_measurable for row in self.rows)

    @property
    def seconds(self) -> float | None:
        """To measure these; None where that is not known."""
        needs = [row.need for row in self.rows if row.need and row.is_measurable]
        known = [need.seconds for need in needs if need.seconds is not None]
        return sum(known) if len(known) == len(needs) else None


def model_table(
    report: UpgradeReport, kernels: Iterable[CaseKernels], machine: int, starred: Collection[str]
) -> ModelTable:
    """What needs a decision first. One query, where something is missing."""
    matched = [group for group in report.models if group.answers]
    matched.sort(key=lambda group: ORDER.index(group.answer.verdict))
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
        rows,
        dict(Counter(group.answer.verdict for group in matched)),
        left_out=[group.title for group in report.models if not group.answers],
    )


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
    query = urlencode(
        {
            "benchmarks": ",".join(sorted({key.benchmark for key in shortfall.cases})),
            "configs": ",".join(sorted({key.config for key in shortfall.cases})),
            "repeats": shortfall.pairs,
        }
    )
    cases = [(key.benchmark, key.config) for key in shortfall.cases]
    if not all(case in seconds for case in cases):
        return Need(shortfall, None, query)
    pair_s = 2 * sum(seconds[case] for case in cases)
    return Need(shortfall, shortfall.pairs * pair_s, query)
