"""How every family stands at one place and how far it moved in a month, from two rollups."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, timedelta
from typing import Any

from django.db import connection

from dashboard.language.metrics import EAGER, METRICS, SUMMARY
from dashboard.models import Config
from dashboard.overview.core.summary import Day, FamilyFigure, newest_build
from dashboard.results.selectors.rollup import SHOWN
from dashboard.ui.locations import SeriesLocation

DAYS = 30
# Eager is the control: it counts where cases pass, and in nothing that compares with it. NULL:
# every compiled config.
_CONFIGS = (
    "(config.name = %(config)s OR (%(config)s = '' AND (known.metric = 'passed' OR "
    "config.name <> %(eager)s)))"
)
# Where the cases stand: their newest values, without what failed since, which the newest datum of
# `passed` tells.
_NOW = f"""
    SELECT NULL::date, NULL::bigint, benchmark.family, benchmark.mode, known.metric, count(*), 0,
           avg(CASE WHEN known.metric = 'passed' THEN known.last_value ELSE ln(known.last_value) END)
    FROM dashboard_series AS known
    JOIN dashboard_benchmark AS benchmark ON benchmark.id = known.benchmark_id AND {SHOWN}
    JOIN dashboard_config AS config ON config.id = known.config_id
    LEFT JOIN dashboard_series AS passed
         ON passed.machine_id = known.machine_id AND passed.track_id = known.track_id AND passed.metric = 'passed'
            AND passed.benchmark_id = known.benchmark_id AND passed.config_id = known.config_id
    WHERE known.machine_id = %(machine)s AND known.track_id = %(track)s AND known.metric = ANY(%(metrics)s)
          AND (known.metric = 'passed' OR (passed.last_value = 1 AND known.last_value > 0))
          AND known.last_value IS NOT NULL AND {_CONFIGS}
    GROUP BY benchmark.family, benchmark.mode, known.metric
"""  # noqa: S608 - made of constants
_DAYS = f"""
    SELECT known.day, known.build_id, known.family, known.mode, known.metric,
           sum(known.count)::int, sum(known.linked)::int, sum(known.moved)
    FROM dashboard_daylevel AS known
    JOIN dashboard_config AS config ON config.id = known.config_id
    WHERE known.machine_id = %(machine)s AND known.track_id = %(track)s AND known.day > %(since)s AND {_CONFIGS}
    GROUP BY known.day, known.build_id, known.family, known.mode, known.metric
"""  # noqa: S608 - made of constants


@dataclass(frozen=True, slots=True)
class FamilyRow:
    """One family in one mode; its figures in the order of metrics.SUMMARY, None where a metric has
    no value.
    """

    family: str
    mode: str
    figures: list[FamilyFigure | None]


@dataclass(frozen=True, slots=True)
class Families:
    """passing, cases: of all rows. has_builds: whether the month saw more than one build."""

    rows: list[FamilyRow]
    passing: int
    cases: int
    has_builds: bool


def read(place: SeriesLocation, config: str = "") -> Families:
    """The families of the place: over every compiled config, or over ``config`` alone. One
    query.
    """
    given = {
        "machine": place.machine.pk,
        "track": place.track.pk,
        "metrics": [*SUMMARY],
        "config": config,
        "eager": EAGER,
        "since": (place.at.astimezone(UTC) - timedelta(days=DAYS)).date(),
    }
    levels: dict[tuple[str, str], dict[str, tuple[int, float]]] = defaultdict(dict)
    days: dict[tuple[str, str, str], list[Day]] = defaultdict(list)
    for day, build, family, mode, metric, *told in _rows(given):
        if day is None:
            levels[family, mode][metric] = (told[0], told[2])
        else:
            days[family, mode, metric].append(Day(day, build, *told))
    build = newest_build(day for found in days.values() for day in found)
    rows = [_row(key, known, days, build) for key, known in sorted(levels.items())]
    passed = [row.figures[0] for row in rows if row.figures[0]]
    passing = sum(round(figure.cases * (figure.value or 0)) for figure in passed)
    return Families(rows, passing, sum(figure.cases for figure in passed), build is not None)


def _rows(given: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(f"{_NOW} UNION ALL {_DAYS} ORDER BY 1 NULLS FIRST", given)
        yield from cursor.fetchall()


def _row(
    key: tuple[str, str],
    known: dict[str, tuple[int, float]],
    days: dict[tuple[str, str, str], list[Day]],
    build: int | None,
) -> FamilyRow:
    figures = []
    for metric in SUMMARY:
        cases, level = known.get(metric, (0, None))
        figures.append(
            FamilyFigure(METRICS[metric], level, cases, days[*key, metric], build)
            if cases
            else None
        )
    return FamilyRow(*key, figures)


def configs() -> list[str]:
    """The compiled configs that are in the registry. One query."""
    return list(
        Config.objects.exclude(name=EAGER).filter(retired=False).values_list("name", flat=True)
    )
