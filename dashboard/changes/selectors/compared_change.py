"""The change of a case between two sides, as their comparison has it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from dashboard.alerts.selectors.alerts import STANDING
from dashboard.alerts.selectors.evidence_jobs import Side, jobs_in_order
from dashboard.catalog.core import commits
from dashboard.changes.core.headline import Headline, case_title, sentence, undecided
from dashboard.changes.selectors.shown_change import ShownChange, Subject, Tile, clause, explain
from dashboard.comparisons.core.case_samples import pairs_of
from dashboard.comparisons.core.tables import ComparisonRow, Table
from dashboard.comparisons.core.upgrade_groups import UpgradeReport
from dashboard.comparisons.selectors import comparisons
from dashboard.comparisons.selectors.case_jobs import jobs_of_cases
from dashboard.comparisons.selectors.measured_builds import measured_builds
from dashboard.comparisons.selectors.side_choice import RequestedSide, choose_sides
from dashboard.comparisons.selectors.stored_reports import stored_report
from dashboard.comparisons.selectors.versions import MeasuredSide
from dashboard.judgement.changes import Change
from dashboard.judgement.words import evidence, in_words, short
from dashboard.language.metrics import EAGER, METRICS, Metric
from dashboard.language.wording import ValueChange
from dashboard.models import Alert, Benchmark, Comparison, Job, TorchBuild

_MOST_JOBS = 8  # of a side
_TILES = ("device_ms", "latency_ms", "cold_start_s", "peak_memory_gb")


@dataclass(frozen=True, slots=True)
class Compared:
    """Two sides and their report. machine: its key. table: of the metric."""

    report: UpgradeReport
    table: Table
    measured: tuple[MeasuredSide, MeasuredSide]
    machine: str

    def row(self, metric: str, case: str) -> ComparisonRow | None:
        """The case (benchmark/config) in a metric; None where the two sides do not share it."""
        table = self.table if metric == self.table.metric.key else self.report.tables.get(metric)
        for row in table.rows if table else ():
            if f"{row.case.benchmark}/{row.case.config}" == case:
                return row
        return None

    def weightiest(self, model: str, mode: str) -> ComparisonRow | None:
        """The compiled case of a model whose change is surest, of these the largest."""
        rows = []
        for row in self.table.rows:
            if (row.case.model, row.case.mode) == (model, mode) and row.case.config != EAGER:
                rows.append(row)
        surest = {"certain": 0, "likely": 1, None: 2}
        return min(rows, key=lambda row: (surest[row.change.grade], -row.size), default=None)


def of_builds(base: RequestedSide, new: RequestedSide, metric: Metric) -> Compared | None:
    """The comparison of what is stored. None: there are no two sides. Raises NotMeasuredError."""
    choice = choose_sides(base, new, measured_builds())
    if choice is None:
        return None
    stored = stored_report(choice, metric, any_libraries=False)
    sides = choice.base.measured, choice.new.measured
    return Compared(stored.report, stored.table, sides, choice.new.tested.machine_key)


def of_comparison(comparison: Comparison, metric: Metric) -> Compared:
    """Comparison of what was measured for it alone."""
    results = comparisons.results(comparison, metric).shown
    sides = comparisons.measured_sides(comparison)
    return Compared(results.report, results.table, sides, comparison.machine.key)


def alert_of(compared: Compared, row: ComparisonRow) -> Alert | None:
    """The newest alert about the same change; None where there is none. One query."""
    (base_source, base), (source, new) = compared.measured
    if base_source != source or source.comparison:
        return None
    alerts = Alert.objects.filter(
        STANDING,
        base=base,
        new=new,
        series__machine=source.machine,
        series__benchmark__name=row.case.benchmark,
        series__config__name=row.case.config,
        series__metric=compared.table.metric.key,
    )
    return alerts.order_by("-pk").first()


def shown(compared: Compared, row: ComparisonRow) -> ShownChange:
    """One row of the comparison. Twelve queries at most."""
    change = row.change
    benchmark = Benchmark.objects.get(name=row.case.benchmark)
    subject = Subject(
        title=case_title(row.case.model, row.case.mode),
        benchmark=row.case.benchmark,
        config=row.case.config,
        metric=change.metric,
        machine=compared.machine,
        sides=_sides(compared, row),
        levels=row.levels,
        is_imported=benchmark.imported,
    )
    kernels, drawn, unit = explain(subject)
    cause = clause(subject, kernels, drawn) if change.grade else ""
    said = undecided(subject.title, change.metric, change.verdict)
    if change.verdict in ("better", "worse"):
        said = sentence(subject.title, change.metric, subject.levels, short(change), cause)
    builds = [side.build for side in subject.sides]
    shas = [build.git_sha if build else "" for build in builds]
    details = {
        "row": row,
        "pairs": pairs_of(row.base, row.new),
        "times_the_spread": _times_the_spread(row),
        "commits": commits.between(shas[0], shas[1]),
        "other_cases": _other_cases(compared, row),
    }
    headline = Headline(said, change.verdict, change.grade, size_of(change), evidence(change))
    tiles = _tiles(compared, row)
    return ShownChange(subject, headline, kernels, drawn, unit, tiles, None, details)


def _times_the_spread(row: ComparisonRow) -> int:
    """Divide the change by what processes of one build ever differed by; 0 of less than two."""
    widest = row.measured.widest
    return int(abs(row.change.effect) / widest) if 0 < widest <= abs(row.change.effect) / 2 else 0


def size_of(change: Change) -> ValueChange:
    return replace(in_words(change), text=short(change))


def _sides(compared: Compared, row: ComparisonRow) -> tuple[Side, Side]:
    """Both sides with their jobs, those near the medians first. Eight queries."""
    both = jobs_of_cases([row], *compared.measured, "device_ms").get(row.case.key)
    builds = TorchBuild.objects.in_bulk([build for _, build in compared.measured])
    sides = []
    names = ("base", "new")
    for name, (source, build), config in zip(names, compared.measured, _configs(row), strict=True):
        jobs = Job.objects.filter(
            run__build=build,
            run__machine=source.machine,
            benchmark__name=row.case.benchmark,
            config__name=config,
            result__isnull=False,
        )
        if source.track:
            jobs = jobs.filter(run__track=source.track)
        if source.comparison:
            jobs = jobs.filter(run__comparison=source.comparison)
        order: list[UUID] = [getattr(both, name)] if both else []
        order += jobs.order_by("-planned_at").values_list("pk", flat=True)[:_MOST_JOBS]
        sides.append(Side(name, builds[build], jobs_in_order(order)))
    return sides[0], sides[1]


def _configs(row: ComparisonRow) -> tuple[str, str]:
    """Configs of both sides, which a comparison of two configs joins in one name."""
    base, _, new = row.case.config.partition(" → ")
    return base, new or base


def _tiles(compared: Compared, row: ComparisonRow) -> Sequence[Tile]:
    case = f"{row.case.benchmark}/{row.case.config}"
    tiles = []
    for key in dict.fromkeys([row.change.metric.key, *_TILES]):
        other = compared.row(key, case)
        if other:
            choice = "" if other.change.metric == row.change.metric else key
            tiles.append(Tile(METRICS[key], other.levels, size_of(other.change), choice))
    return tiles if len(tiles) > 1 else ()


def _other_cases(compared: Compared, row: ComparisonRow) -> list[ComparisonRow]:
    """The same model's other cases in the metric, the largest change first."""
    name = row.case.model, row.case.mode
    alike = [other for other in compared.table.rows if (other.case.model, other.case.mode) == name]
    return [other for other in alike if other.case != row.case][:_MOST_JOBS]
