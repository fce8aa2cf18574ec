"""Real series against what was really done to them: all of it is reported in time, nothing else."""

import csv
import gzip
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

import pytest

from dashboard.results.core.series_points import SeriesPoint, judge_history, unjudged

DRILL = Path(__file__).parents[2] / "data" / "histories" / "drill_series"
Key = tuple[str, str, str]  # benchmark, config, metric
Row = dict[str, str]


def by_series(rows: Iterable[Row]) -> dict[Key, list[Row]]:
    series: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        series[row["benchmark"], row["config"], row["metric"]].append(row)
    return series


def recorded() -> dict[Key, list[Row]]:
    with gzip.open(DRILL / "series.csv.gz", "rt") as file:
        return by_series(csv.DictReader(file))


def expected() -> dict[Key, list[Row]]:
    with (DRILL / "expected.csv").open() as file:
        return by_series(csv.DictReader(file))


def reported(metric: str, rows: list[Row]) -> list[tuple[int, int, str]]:
    """First point of each new level, the point it was reported with, and where it went; the series
    is followed as the site does.
    """
    builds = sorted({row["build"] for row in rows})
    readings = [reading(row, builds.index(row["build"])) for row in rows]
    _, detections = judge_history(readings, unjudged(metric, per_build=False))
    changes = []
    for detection in detections:
        verdict, seen_at = detection.verdict, readings.index(detection.reading)
        if verdict.state == "changed":
            changes.append((verdict.index, seen_at, "up" if verdict.effect > 0 else "down"))
    return changes


def reading(row: Row, build: int) -> SeriesPoint:
    value, low, high = (
        float(row[name]) if row[name] else None for name in ("value", "low", "high")
    )
    at, version = datetime.fromisoformat(row["at"]), int(row["benchmark_version"])
    return SeriesPoint(at, row["job"], build, None, version, row["status"], value, low, high)


@pytest.mark.parametrize(
    "key", sorted(recorded()), ids=lambda key: f"{key[0].split('.')[0]} {key[1]} {key[2]}"
)
def test_what_was_done_is_reported_in_time_and_nothing_else(key: Key) -> None:
    done = expected().get(key, [])
    changes = reported(key[2], recorded()[key])
    assert [index for index, _, _ in changes] == [int(row["index"]) for row in done]
    assert [direction for _, _, direction in changes] == [row["direction"] for row in done]
    for (index, seen_at, _), row in zip(changes, done, strict=True):
        assert seen_at - index + 1 <= int(row["within"])


def test_every_changed_series_is_recorded() -> None:
    assert expected().keys() <= recorded().keys()
