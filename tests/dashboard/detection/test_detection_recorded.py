"""Real series against what was really done to them: everything that was is told in time, and
nothing else is.
"""

import csv
import gzip
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

import pytest

from dashboard.results.core.series_points import SeriesDetector, SeriesPoint

DRILL = Path(__file__).parents[2] / "data" / "drill_series"
Key = tuple[str, str, str]  # benchmark, config, metric
Row = dict[str, str]


def by_series(rows: Iterable[Row]) -> dict[Key, list[Row]]:
    found: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["benchmark"], row["config"], row["metric"]].append(row)
    return found


def recorded() -> dict[Key, list[Row]]:
    with gzip.open(DRILL / "series.csv.gz", "rt") as file:
        return by_series(csv.DictReader(file))


def expected() -> dict[Key, list[Row]]:
    with (DRILL / "expected.csv").open() as file:
        return by_series(csv.DictReader(file))


def told(metric: str, rows: list[Row]) -> list[tuple[int, int, str]]:
    """First point of each new level, the point it was told with, and where it went; followed as the
    site does.
    """
    follower, builds, found = (
        SeriesDetector(metric, per_build=False),
        sorted({row["build"] for row in rows}),
        [],
    )
    for place, row in enumerate(rows):
        verdict = follower.take(reading(row, builds.index(row["build"])))
        if verdict is not None and verdict.state == "changed":
            assert verdict.index is not None
            assert verdict.effect is not None
            found.append((verdict.index, place, "up" if verdict.effect > 0 else "down"))
    return found


def reading(row: Row, build: int) -> SeriesPoint:
    value, low, high = (
        float(row[name]) if row[name] else None for name in ("value", "low", "high")
    )
    at, version = datetime.fromisoformat(row["at"]), int(row["benchmark_version"])
    return SeriesPoint(at, row["job"], build, None, version, row["status"], value, low, high)


@pytest.mark.parametrize(
    "key", sorted(recorded()), ids=lambda key: f"{key[0].split('.')[0]} {key[1]} {key[2]}"
)
def test_what_was_done_is_told_in_time_and_nothing_else(key: Key) -> None:
    done = [
        (int(row["index"]), row["direction"], int(row["within"])) for row in expected().get(key, [])
    ]
    found = told(key[2], recorded()[key])
    assert [(index, where) for index, _, where in found] == [
        (index, where) for index, where, _ in done
    ]
    delays = [place - index + 1 for index, place, _ in found]
    assert all(delay <= within for delay, (*_, within) in zip(delays, done, strict=True))


def test_every_series_that_was_changed_is_recorded() -> None:
    assert expected().keys() <= recorded().keys()
