"""All data of some series as rows, and as lines of CSV. Pure."""

import csv
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np

from dashboard.ui.charts import ChartLine

FIELDS = ("at", "config", "build", "purpose", "status", "value", "low", "high", "job")


def rows(lines: Iterable[ChartLine]) -> Iterator[tuple[Any, ...]]:
    """Every datum as a row of FIELDS; a missing number is None, a time ISO 8601 UTC."""
    for line in lines:
        for index in range(len(line.value)):
            at = datetime.fromtimestamp(line.at_ms[index] / 1000, UTC)
            yield (
                at.isoformat(timespec="milliseconds"),
                line.name,
                line.build[index],
                line.purpose[index],
                line.status[index],
                _number(line.value[index]),
                _number(line.low[index]),
                _number(line.high[index]),
                line.job[index],
            )


def _number(value: np.float64) -> float | None:
    return None if np.isnan(value) else float(value)


def csv_lines(lines: Iterable[ChartLine]) -> Iterator[str]:
    writer = csv.writer(_Echo())
    yield writer.writerow(FIELDS)
    for row in rows(lines):
        yield writer.writerow(row)


class _Echo:
    """A file for csv.writer that hands each line back."""

    def write(self, line: str) -> str:
        return line
