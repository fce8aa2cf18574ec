"""Standing of every family at one place, and its move in a month, from two rollups."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta
from typing import Any

from django.db import connection

from dashboard.catalog.core.versions import short_label
from dashboard.language.metrics import EAGER, METRICS, SUMMARY
from dashboard.models import Config
from dashboard.overview.core.summary import Day, FamilyFigure, Standing, came_in_turn
from dashboard.results.core.report import ACCURACY_NOT_JUDGED
from dashboard.results.selectors.build_order import TrackBuild
from dashboard.results.selectors.rollup import SHOWN
from dashboard.ui.locations import SeriesLocation

DAYS = 30
Days = dict[tuple[str, str, str], list[Day]]  # (family, mode, metric) -> the month's days
# Eager is the control: it counts among the cases that pass, and in nothing that is compared with
# it. '': every compiled config.
_CONFIGS = """(
    config.name = %(config)s
    OR (%(config)s = '' AND (measured.metric = 'passed' OR config.name <> %(eager)s))
)"""
# Such a job says so in its message, which few that passed have: no other document, which is large,
# is opened.
_NOT_JUDGED = """
    measured.metric = 'passed' AND measured.newest_value = 1
    AND (SELECT message <> '' FROM dashboard_job WHERE uuid = measured.newest_job_id)
    AND (SELECT document -> 'accuracy' ->> 'status' = ANY(%(not_judged)s) FROM dashboard_result
         WHERE job_id = measured.newest_job_id)
"""
# Where the cases stand: their newest values, each build's apart. The newest of `passed` says which
# ones fail: those do not count.
_NOW = f"""
    SELECT NULL::date, measured.newest_build_id, benchmark.family, benchmark.mode, measured.metric,
           count(*), 0,
           avg(CASE WHEN measured.metric = 'passed' THEN measured.newest_value
                    ELSE ln(measured.newest_value) END),
           count(*) FILTER (WHERE {_NOT_JUDGED})
    FROM dashboard_series AS measured
    JOIN dashboard_benchmark AS benchmark ON benchmark.id = measured.benchmark_id AND {SHOWN}
    JOIN dashboard_config AS config ON config.id = measured.config_id
    JOIN dashboard_machine AS machine ON machine.id = measured.machine_id
    LEFT JOIN dashboard_series AS passed
         ON passed.machine_id = measured.machine_id AND passed.track_id = measured.track_id
            AND passed.benchmark_id = measured.benchmark_id
            AND passed.config_id = measured.config_id
            AND passed.metric = 'passed'
    WHERE measured.machine_id = %(machine)s AND measured.track_id = %(track)s
          AND measured.metric = ANY(%(metrics)s)
          AND (measured.metric = 'passed'
               OR (passed.newest_value = 1 AND measured.newest_value > 0))
          AND measured.newest_value IS NOT NULL AND {_CONFIGS}
          AND (measured.metric <> 'compression_ratio'  -- metrics.is_artefact
               OR machine.device_kind <> 'cpu' AND benchmark.size <> 'smoke')
    GROUP BY benchmark.family, benchmark.mode, measured.metric, measured.newest_build_id
"""  # noqa: S608 - made of constants
_DAYS = f"""
    SELECT measured.day, measured.build_id, measured.family, measured.mode, measured.metric,
           sum(measured.count)::int, sum(measured.linked)::int, sum(measured.moved), 0
    FROM dashboard_daylevel AS measured
    JOIN dashboard_config AS config ON config.id = measured.config_id
    WHERE measured.machine_id = %(machine)s AND measured.track_id = %(track)s
          AND measured.day > %(since)s AND {_CONFIGS}
    GROUP BY measured.day, measured.build_id, measured.family, measured.mode, measured.metric
"""  # noqa: S608 - made of constants


@dataclass(frozen=True, slots=True)
class FamilyRow:
    """One family in one mode. figures: in the order of metrics.SUMMARY, None without a value."""

    family: str
    mode: str
    figures: list[FamilyFigure | None]


@dataclass(frozen=True, slots=True)
class Families:
    """passing, cases: of all rows.

    not_judged: of how many passing ones the accuracy was not judged.
    has_builds: whether the month saw more than one build.
    in_turn: the place follows no build, and several were measured in turn: nothing moved there from
        one result to the next, and no figure says that it did.
    """

    rows: list[FamilyRow]
    passing: int
    cases: int
    not_judged: int
    has_builds: bool
    in_turn: bool


def read(place: SeriesLocation, builds: Sequence[TrackBuild], config: str = "") -> Families:
    """The families of the place, over ``config`` or every compiled config. One query.

    builds: `newest_first` of the place.
    """
    standing: dict[tuple[str, str, str], list[Standing]] = defaultdict(list)
    days: Days = defaultdict(list)
    all_days: list[Day] = []
    not_judged = 0
    ages = {build.build: age for age, build in enumerate(builds)}
    labels = {build.build: short_label(build.label) for build in builds}
    for rollup in _rollups(place, config):
        day, build, family, mode, metric, count, linked, total, without_judgement = rollup
        if day is None:
            not_judged += without_judgement
            age = ages.get(build, len(ages))
            standing[family, mode, metric].append(
                Standing(age, labels.get(build, ""), count, total)
            )
        else:
            entry = Day(day, build, count, linked, total)
            days[family, mode, metric].append(entry)
            all_days.append(entry)
    in_turn = not place.build and came_in_turn(all_days)
    if in_turn:
        days.clear()
    has_builds = len({day.build for day in all_days}) > 1
    newest = builds[0].build if has_builds else None
    rows = []
    for family, mode in sorted({key[:2] for key in standing}):
        figures: list[FamilyFigure | None] = []
        for metric in SUMMARY:
            key = family, mode, metric
            figure = None
            if key in standing:
                figure = FamilyFigure(METRICS[metric], standing[key], days[key], newest)
            figures.append(figure)
        rows.append(FamilyRow(family, mode, figures))
    passing, cases = _passing(rows)
    return Families(rows, passing, cases, not_judged, has_builds, in_turn)


def _rollups(place: SeriesLocation, config: str) -> list[tuple[Any, ...]]:
    """Rows of `_NOW`, whose day is None, then those of `_DAYS`, oldest first. One query."""
    parameters: dict[str, Any] = {
        "machine": place.machine.pk,
        "track": place.track.pk,
        "metrics": [*SUMMARY],
        "config": config,
        "eager": EAGER,
        "not_judged": [*ACCURACY_NOT_JUDGED],
        "since": (place.at.astimezone(UTC) - timedelta(days=DAYS)).date(),
    }
    with connection.cursor() as cursor:
        cursor.execute(f"{_NOW} UNION ALL {_DAYS} ORDER BY 1 NULLS FIRST", parameters)
        rollups: list[tuple[Any, ...]] = cursor.fetchall()
    return rollups


def _passing(rows: list[FamilyRow]) -> tuple[int, int]:
    """Count the cases that pass, and all cases."""
    passing = cases = 0
    for row in rows:
        passed = row.figures[0]  # `passed` is the first metric of SUMMARY
        if passed is not None:
            cases += passed.cases
            passing += round(passed.cases * (passed.value or 0))
    return passing, cases


def configs() -> list[str]:
    """The compiled configs that are in the registry. One query."""
    compiled = Config.objects.exclude(name=EAGER).filter(retired=False)
    return list(compiled.values_list("name", flat=True))
