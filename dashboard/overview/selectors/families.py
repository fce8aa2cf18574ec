"""How every family stands at one place and how far it moved in a month, from two rollups."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta
from typing import Any

from django.db import connection

from dashboard.catalog.core.versions import version_order
from dashboard.language.metrics import EAGER, METRICS, SUMMARY
from dashboard.models import Config
from dashboard.overview.core.summary import Day, FamilyFigure, came_in_turn, newest_build
from dashboard.results.core.report import ACCURACY_NOT_JUDGED
from dashboard.results.selectors.rollup import SHOWN
from dashboard.ui.locations import SeriesLocation

DAYS = 30
Levels = dict[str, tuple[int, float]]  # metric -> (cases, level)
Days = dict[tuple[str, str, str], list[Day]]  # (family, mode, metric) -> the month's days
Builds = dict[tuple[str, str, str], Sequence[str]]  # likewise: versions, the newest first
# Eager is the control: it counts among the cases that pass, and in nothing that is compared with
# it. '': every compiled config.
_CONFIGS = """(
    config.name = %(config)s
    OR (%(config)s = '' AND (measured.metric = 'passed' OR config.name <> %(eager)s))
)"""
# Such a job says so in its message, which few that passed have: no other document, which is large,
# is opened.
_NOT_JUDGED = """
    measured.metric = 'passed' AND measured.last_value = 1
    AND (SELECT message <> '' FROM dashboard_job WHERE uuid = measured.last_job_id)
    AND (SELECT document -> 'accuracy' ->> 'status' = ANY(%(not_judged)s) FROM dashboard_result
         WHERE job_id = measured.last_job_id)
"""
# Where the cases stand: their newest values. The newest datum of `passed` says which ones have
# failed since: those do not count.
_FROM = f"""
    FROM dashboard_series AS measured
    JOIN dashboard_benchmark AS benchmark ON benchmark.id = measured.benchmark_id AND {SHOWN}
    JOIN dashboard_config AS config ON config.id = measured.config_id
    JOIN dashboard_machine AS machine ON machine.id = measured.machine_id
    LEFT JOIN dashboard_series AS passed
         ON passed.machine_id = measured.machine_id AND passed.track_id = measured.track_id
            AND passed.benchmark_id = measured.benchmark_id
            AND passed.config_id = measured.config_id
            AND passed.metric = 'passed'
"""
_WHERE = f"""
    WHERE measured.machine_id = %(machine)s AND measured.track_id = %(track)s
          AND measured.metric = ANY(%(metrics)s)
          AND (measured.metric = 'passed' OR (passed.last_value = 1 AND measured.last_value > 0))
          AND measured.last_value IS NOT NULL AND {_CONFIGS}
          AND (measured.metric <> 'compression_ratio'  -- metrics.is_artefact
               OR machine.device_kind <> 'cpu' AND benchmark.size <> 'smoke')
"""
_NOW = f"""
    SELECT NULL::date, NULL::bigint, benchmark.family, benchmark.mode, measured.metric, count(*), 0,
           avg(CASE WHEN measured.metric = 'passed' THEN measured.last_value
                    ELSE ln(measured.last_value) END),
           count(*) FILTER (WHERE {_NOT_JUDGED})
    {_FROM} {_WHERE}
    GROUP BY benchmark.family, benchmark.mode, measured.metric
"""
_BUILDS = f"""
    SELECT benchmark.family, benchmark.mode, measured.metric,
           array_agg(DISTINCT regexp_replace(build.label, '[+][a-z0-9]+', ''))
    {_FROM}
    JOIN dashboard_job AS job ON job.uuid = measured.last_job_id
    JOIN dashboard_run AS run ON run.id = job.run_id
    JOIN dashboard_torchbuild AS build ON build.id = run.build_id
    {_WHERE}
    GROUP BY benchmark.family, benchmark.mode, measured.metric
"""
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


def read(place: SeriesLocation, config: str = "") -> Families:
    """The families of the place, over ``config`` or every compiled config. One query; two where
    builds were measured in turn.
    """
    levels: dict[tuple[str, str], Levels] = defaultdict(dict)
    days: Days = defaultdict(list)
    all_days: list[Day] = []
    not_judged = 0
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
        rollups = cursor.fetchall()
    for day, build, family, mode, metric, count, linked, total, without_judgement in rollups:
        if day is None:
            not_judged += without_judgement
            levels[family, mode][metric] = (count, total)
        else:
            entry = Day(day, build, count, linked, total)
            days[family, mode, metric].append(entry)
            all_days.append(entry)
    in_turn = not place.build and came_in_turn(all_days)
    builds: Builds = {}
    if in_turn:
        days.clear()
        builds = _builds(parameters)
    newest = newest_build(all_days)
    rows = [_row(key, levels[key], days, newest, builds) for key in sorted(levels)]
    passing, cases = _passing(rows)
    has_builds = newest is not None
    return Families(rows, passing, cases, not_judged, has_builds, in_turn)


def _passing(rows: list[FamilyRow]) -> tuple[int, int]:
    """How many cases pass, and of how many."""
    passing = cases = 0
    for row in rows:
        passed = row.figures[0]  # `passed` is the first metric of SUMMARY
        if passed is not None:
            cases += passed.cases
            passing += round(passed.cases * (passed.value or 0))
    return passing, cases


def _builds(parameters: dict[str, Any]) -> Builds:
    """Which builds the newest values are of. One query."""
    with connection.cursor() as cursor:
        cursor.execute(_BUILDS, parameters)
        measured = cursor.fetchall()
    builds: Builds = {}
    for family, mode, metric, versions in measured:
        builds[family, mode, metric] = sorted(versions, key=version_order, reverse=True)
    return builds


def _row(
    key: tuple[str, str], levels: Levels, days: Days, build: int | None, builds: Builds
) -> FamilyRow:
    family, mode = key
    figures: list[FamilyFigure | None] = []
    for metric in SUMMARY:
        figure = None
        if metric in levels:
            cases, level = levels[metric]
            month = days[family, mode, metric]
            of_builds = builds.get((family, mode, metric), ())
            figure = FamilyFigure(METRICS[metric], level, cases, month, build, of_builds)
        figures.append(figure)
    return FamilyRow(family, mode, figures)


def configs() -> list[str]:
    """The compiled configs that are in the registry. One query."""
    compiled = Config.objects.exclude(name=EAGER).filter(retired=False)
    return list(compiled.values_list("name", flat=True))
