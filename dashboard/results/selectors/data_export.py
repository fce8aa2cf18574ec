"""Every datum that a filter lets through, in time order, without holding them in memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from dashboard.results.core.data_files import DataRow

CHUNK = 2_000
# In plain SQL, in the order of DataRow's fields, read through a cursor of the server: an export may
# be all that there is.
_SELECT = """
    SELECT datum.planned_at, machine.key, track.key, build.label, build.version, build.git_sha,
           benchmark.name, benchmark.model, benchmark.family, benchmark.mode, benchmark.dtype,
           benchmark.batch_size, datum.benchmark_version, config.name, series.metric,
           datum.value, datum.low, datum.high, datum.count,
           datum.status, datum.purpose, datum.job_id::text, benchmark.original
    FROM dashboard_datum AS datum
    JOIN dashboard_series AS series ON series.id = datum.series_id
    JOIN dashboard_benchmark AS benchmark ON benchmark.id = series.benchmark_id
    JOIN dashboard_config AS config ON config.id = series.config_id
    JOIN dashboard_machine AS machine ON machine.id = series.machine_id
    JOIN dashboard_track AS track ON track.id = series.track_id
    JOIN dashboard_torchbuild AS build ON build.id = datum.build_id
"""
_COLUMNS = {  # name of a filter -> the column that it compares
    "machine": "machine.key",
    "track": "track.key",
    "build": "build.label",
    "benchmark": "benchmark.name",
    "model": "benchmark.model",
    "family": "benchmark.family",
    "config": "config.name",
    "metric": "series.metric",
    "purpose": "datum.purpose",
    "status": "datum.status",
}
FILTERS = tuple(_COLUMNS)


@dataclass(frozen=True, slots=True)
class Filter:
    """Data requested. chosen: name of a filter -> the values that it lets through; none: all."""

    chosen: dict[str, list[str]]
    since: datetime | None = None
    until: datetime | None = None


def rows(requested: Filter) -> Iterator[DataRow]:
    """One query, read in chunks as long as the rows are taken."""
    # Made of our own column names alone
    terms = [
        f"{_COLUMNS[name]} = ANY(%({name})s)" for name, values in requested.chosen.items() if values
    ]
    if requested.since:
        terms.append("datum.planned_at >= %(since)s")
    if requested.until:
        terms.append("datum.planned_at < %(until)s")
    where = f"WHERE {' AND '.join(terms)}" if terms else ""
    parameters = {**requested.chosen, "since": requested.since, "until": requested.until}
    query = f"{_SELECT} {where} ORDER BY datum.planned_at, datum.job_id, series.metric"
    with connection.chunked_cursor() as cursor:
        cursor.execute(query, parameters)
        while chunk := cursor.fetchmany(CHUNK):
            yield from map(DataRow._make, chunk)
