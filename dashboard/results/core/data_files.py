"""Data as files for other tools: CSV, JSON Lines, PyTorch's v3 records, Parquet. Pure."""

import csv
import io
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any, NamedTuple

import orjson

from dashboard.language.exports import harmless

PARQUET_ROWS = 20_000  # in one row group


class DataRow(NamedTuple):
    """One datum. value: None where the case failed; low, high: its 95% interval."""

    at: datetime
    machine: str
    track: str
    build: str
    torch: str
    git_sha: str
    benchmark: str
    model: str
    family: str
    mode: str
    dtype: str
    batch_size: int
    benchmark_version: int
    config: str
    metric: str
    value: float | None
    low: float | None
    high: float | None
    samples: int  # that it was made from
    status: str
    purpose: str
    job: str
    original: str  # what the imported file calls the benchmark


def csv_lines(rows: Iterable[DataRow]) -> Iterator[bytes]:
    """A header and a line for each datum; no cell is taken for a formula by a spreadsheet."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(DataRow._fields)
    for row in rows:
        if file.tell() > 1 << 16:
            yield _taken(file)
        writer.writerow([harmless(_plain(cell)) for cell in row])
    yield _taken(file)


def json_lines(rows: Iterable[DataRow]) -> Iterator[bytes]:
    """One object a line; units and directions: docs/reference-metrics.md."""
    for row in rows:
        yield orjson.dumps(row._asdict(), option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z)


def v3_lines(rows: Iterable[DataRow]) -> Iterator[bytes]:
    """PyTorch's benchmark records, version 3, one a line; a failure is a record of accuracy."""
    for row in rows:
        if row.value is not None or row.metric == "latency_ms":
            yield orjson.dumps(v3_record(row), option=orjson.OPT_APPEND_NEWLINE)


def v3_record(row: DataRow) -> dict[str, Any]:
    """The record of one datum. Metrics keep our keys, whose suffix is their unit."""
    runner = {"name": row.machine, "type": row.machine}
    if not row.machine.startswith("cpu"):
        runner["gpu_info"] = row.machine
    metric: dict[str, Any] = {"name": row.metric, "benchmark_values": [row.value]}
    if row.value is None:
        metric = {"name": "accuracy", "extra_info": {"benchmark_values": [row.status]}}
    elif row.low is not None and row.high is not None:
        metric["extra_info"] = {
            "low": str(row.low),
            "high": str(row.high),
            "samples": str(row.samples),
        }
    return {
        "schema_version": "v3",
        "timestamp": int(row.at.timestamp()),
        "name": "compilewatch",
        "head_sha": row.git_sha,
        "runners": [runner],
        "benchmark": {
            "name": row.benchmark,
            "mode": row.mode,
            "dtype": row.dtype,
            "extra_info": {
                "batch_size": str(row.batch_size),
                "track": row.track,
                "purpose": row.purpose,
                "job": row.job,
                "benchmark_version": str(row.benchmark_version),
            },
        },
        "model": {
            "name": row.model,
            "type": row.family,
            "backend": row.config,
            "origins": [row.family],
        },
        "inputs": {},
        "dependencies": {"pytorch": {"version": row.build, "sha": row.git_sha}},
        "metric": metric,
    }


def parquet(rows: Iterable[DataRow], path: str) -> None:
    """Write a Parquet file, one row group at a time. Raises ImportError without pyarrow."""
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    kinds = {
        "at": pyarrow.timestamp("us", tz="UTC"),
        **dict.fromkeys(("batch_size", "benchmark_version", "samples"), pyarrow.int64()),
        **dict.fromkeys(("value", "low", "high"), pyarrow.float64()),
    }
    fields = [(name, kinds.get(name, pyarrow.string())) for name in DataRow._fields]
    schema = pyarrow.schema(fields)
    remaining = iter(rows)
    with ParquetWriter(path, schema, compression="zstd") as file:
        while group := list(islice(remaining, PARQUET_ROWS)):
            records = [row._asdict() for row in group]
            file.write_table(pyarrow.Table.from_pylist(records, schema=schema))


def _plain(cell: Any) -> Any:
    if isinstance(cell, datetime):
        return cell.astimezone(UTC).isoformat(timespec="milliseconds")
    return cell


def _taken(file: io.StringIO) -> bytes:
    """Return what was written so far, and empty the file."""
    text = file.getvalue()
    file.seek(0)
    file.truncate()
    return text.encode()
