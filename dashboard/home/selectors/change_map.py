"""The map of a machine: what its newest releases changed, or the newest builds of a track."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache

from django.db.models import F

from dashboard.alerts.selectors.alerts import DECISION_IN_BRIEF, STANDING
from dashboard.catalog.core.versions import build_order, version_order
from dashboard.comparisons.core.matching import Side
from dashboard.comparisons.core.upgrade_groups import (
    REPORT_METRICS,
    GroupName,
    UpgradeReport,
    build_report,
)
from dashboard.comparisons.selectors.measured_builds import MeasuredBuild, builds_by_version
from dashboard.comparisons.selectors.side_choice import Choice
from dashboard.comparisons.selectors.versions import (
    MeasuredSide,
    SideSource,
    by_build,
    data_fingerprint,
)
from dashboard.home.core.change_map import (
    MARKS,
    STEP_METRICS,
    Compare,
    MapColumn,
    MapRow,
    columns_of,
    release_rows,
)
from dashboard.home.core.night_rows import Finding, night_rows
from dashboard.judgement.changes import Change, Grade, Verdict
from dashboard.language.metrics import EAGER, STATUS_METRIC
from dashboard.language.wording import metric_of
from dashboard.models import Alert, DetectorState, Direction, EvidenceState, TorchBuild
from dashboard.ui.locations import SeriesLocation

_MOST_RELEASES, _MOST_NIGHTS, _MOST_ROWS = 6, 14, 40


@dataclass(frozen=True, slots=True)
class ChangeMap:
    """columns: the oldest first. more: models that are left out: measured on one release alone, or
    beyond the longest map. track: empty of releases. compare, sides: of releases.
    """

    machine: str
    track: str
    columns: list[MapColumn]
    rows: list[MapRow]
    more: int
    compare: Compare | None = None
    sides: Sequence[MeasuredSide] = field(default_factory=list)

    def report_of(self, choice: Choice) -> UpgradeReport | None:
        """The comparison of two of its releases; None of others."""
        sides = choice.base.measured, choice.new.measured
        if not self.compare or choice.differs != ["build"] or not set(sides) <= set(self.sides):
            return None
        base, new = map(self.sides.index, sides)
        return self.compare(base, new)


def is_release(tested: MeasuredBuild) -> bool:
    """Test whether it is a plain release: a commit that was imported has no version."""
    is_plain = tested.base is None and tested.channel == TorchBuild.Channel.RELEASE
    return is_plain and version_order(tested.version)[0] and "." in tested.version


def tracks_apart(measured: Sequence[MeasuredBuild], machine: str) -> list[str]:
    """List the tracks of a machine that measured something else than releases."""
    keys = {
        tested.track_key
        for tested in measured
        if tested.machine_key == machine and not (tested.track_hidden or is_release(tested))
    }
    return sorted(keys)


def release_map(
    machine: str, measured: Sequence[MeasuredBuild], starred: Collection[str]
) -> ChangeMap | None:
    """The newest releases of that machine, the models that a person starred first; None of fewer
    than two. Two queries where it is kept since the data are the same, else eight.
    """
    builds = list(filter(is_release, builds_by_version(measured, machine, "")))
    builds = builds[:_MOST_RELEASES][::-1]
    if len(builds) < 2:
        return None
    source = SideSource(builds[0].machine)
    ids = tuple(tested.build for tested in builds)
    measured_sides = [(source, build) for build in ids]
    fingerprint = data_fingerprint(measured_sides, REPORT_METRICS)
    labels = [tested.label for tested in builds]
    sides, compare = _compared(fingerprint, source, ids)
    rows, alone = release_rows(labels, sides, compare, starred)
    columns, more = columns_of(labels, rows), alone + max(len(rows) - _MOST_ROWS, 0)
    return ChangeMap(machine, "", columns, rows[:_MOST_ROWS], more, compare, measured_sides)


def night_map(
    place: SeriesLocation, measured: Sequence[MeasuredBuild], starred: Collection[str]
) -> ChangeMap | None:
    """The newest builds of a track, as the detector judged them; None without any. Six queries."""
    machine, track = place.machine.key, place.track.key
    there = [
        tested
        for tested in measured
        if (tested.machine, tested.track) == (place.machine.pk, place.track.pk)
    ]
    there.sort(key=lambda each: build_order(each.label, each.version, False, each.at))
    builds = there[-_MOST_NIGHTS:]
    if not builds:
        return None
    source = SideSource(builds[0].machine, builds[0].track)
    ids = [tested.build for tested in builds]
    by_id = by_build(source, ids, STEP_METRICS)
    rows = night_rows(
        [tested.label for tested in builds],
        [by_id[build] for build in ids],
        _findings(source, ids),
        _watched(source),
        starred,
    )
    columns = columns_of([tested.label for tested in builds], rows)
    more = max(len(rows) - _MOST_ROWS, 0)
    return ChangeMap(machine, track, columns, rows[:_MOST_ROWS], more)


def _findings(source: SideSource, builds: Sequence[int]) -> list[Finding]:
    """The changes that the detector found in compiled series of the place. One query."""
    standing = Alert.objects.filter(
        STANDING, series__machine=source.machine, series__track=source.track, new__in=builds
    ).exclude(series__config__name=EAGER)
    related = standing.select_related("series__benchmark", "base")
    findings = []
    for alert in related.defer("decision").annotate(decision_in_brief=DECISION_IN_BRIEF):
        metric = metric_of(alert.series.metric)
        if metric.key in ("latency_ms", "device_ms"):
            what = "step"
        elif metric.key == STATUS_METRIC:
            what = "failure"
        elif metric.key in MARKS:
            what = MARKS[metric.key]
        else:
            continue
        benchmark = alert.series.benchmark
        verdict: Verdict = "worse" if alert.direction == Direction.REGRESSION else "better"
        findings.append(
            Finding(
                (benchmark.model, benchmark.mode),
                builds.index(alert.new_id),
                what,
                metric.label.lower(),
                verdict,
                _change(alert, verdict),
                alert.base.label if alert.base else "",
                alert.group_id,
            )
        )
    return findings


def _change(alert: Alert, verdict: Verdict) -> Change | None:
    """The size of an alert: likely, until pairs confirmed it. None where it is not in percent."""
    size = alert.size
    if size.unit != "percent" or size.effect is None:
        return None
    ends = [-math.inf if size.low is None else size.low, size.high or math.inf]
    effect, low, high = (math.log1p(max(each, -99.9) / 100) for each in (size.effect, *ends))
    grade: Grade = "certain" if alert.confirmation == EvidenceState.CONFIRMED else "likely"
    metric = metric_of(alert.series.metric)
    return Change(alert.pk, metric, effect, low, high, verdict=verdict, grade=grade, basis="trend")


def _watched(source: SideSource) -> set[GroupName]:
    """The models at the place of which the detector has read a step. One query."""
    read = DetectorState.objects.filter(
        series__machine=source.machine,
        series__track=source.track,
        series__metric__in=STEP_METRICS,
        planned_at__isnull=False,
    )
    names = read.values_list(F("series__benchmark__model"), F("series__benchmark__mode"))
    return set(names.distinct())


@lru_cache(maxsize=4)
def _compared(
    fingerprint: str, source: SideSource, builds: tuple[int, ...]
) -> tuple[list[Side], Compare]:
    """Read what each build measured, and return a function that makes each comparison once.

    fingerprint: of the data, as a part of the cache's key alone.
    """
    by_id = by_build(source, builds, REPORT_METRICS, to_pair=True)
    sides: list[Side] = [by_id[build] for build in builds]

    @cache
    def compare(before: int, after: int) -> UpgradeReport:
        return build_report(sides[before], sides[after])

    return sides, compare
