"""How fast results are ingested, next to COPY: python tests/perf/ingest.py [RESULTS]

1,000 results with 40 metrics and twice 200 raw samples are imported into an empty database; then
the resulting rows are copied from Python, which is the floor: nothing is unpacked or checked, and
no series, rollup or job is looked up. Once into tables with the same columns and indexes, and once
into tables that have the foreign keys too.
"""

import logging
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))

import psutil

from tests.perf.capacity import processor_s, random_samples, random_values, servers

TABLES = ("job", "result", "samples", "datum")
CASES = 100  # most results belong to existing series and a few to new ones, as in a fleet


def sources(count: int) -> list[Any]:
    """Result documents of different jobs, as in files."""
    from django.utils import timezone

    from dashboard.results.services.imports import ImportSource as Source
    from tests.builders import site

    job = site.run(site.MLP, purpose="scheduled").jobs.get()
    sources = []
    for number in range(count):
        document = site.result(job, random_values(), samples=random_samples())
        batch_size = 1 + number % CASES
        benchmark = site.MLP.replace("b64", f"b{batch_size}")
        document["benchmark"] |= {"name": benchmark, "batch_size": batch_size}
        document["job"] = {
            **document["job"],
            "job_id": f"perf-{number}",
            "benchmark": benchmark,
            "planned_at": timezone.now().isoformat(),
        }
        sources.append(Source(str(number), site.pack(document)))
    return sources


class Cost(NamedTuple):
    """Wall-clock time, and CPU time of this process and its Postgres process."""

    wall_s: float
    cpu_s: float


class Floor(NamedTuple):
    """What COPY of the rows of one table costs, commit included."""

    rows: int
    with_indexes: Cost
    with_foreign_keys: Cost


def cost(work: Callable[[], object]) -> Cost:
    began, cpu_began = time.perf_counter(), sum(processor_s())
    work()
    return Cost(time.perf_counter() - began, sum(processor_s()) - cpu_began)


def copy_table(table: str) -> Floor:
    """Copy all rows of a table into empty ones like it, without and with its foreign keys."""
    from django.db import connection

    from dashboard.results.services.copying import copy_rows

    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM dashboard_{table}")
        columns, rows = [column.name for column in cursor.description], cursor.fetchall()
    indexed, keyed = f"indexed_{table}", f"keyed_{table}"
    create_like(table, indexed)
    create_like(table, keyed)
    add_foreign_keys(table, keyed)
    return Floor(
        len(rows),
        cost(lambda: copy_rows(indexed, columns, rows)),
        cost(lambda: copy_rows(keyed, columns, rows)),
    )


def create_like(table: str, name: str) -> None:
    """An empty table with the same columns and indexes."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {name} (LIKE dashboard_{table} INCLUDING ALL)")


def add_foreign_keys(table: str, name: str) -> None:
    from django.db import connection

    definitions = (
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'f' AND "
        "conrelid = %s::regclass"
    )
    with connection.cursor() as cursor:
        cursor.execute(definitions, [f"dashboard_{table}"])
        for (definition,) in cursor.fetchall():
            cursor.execute(f"ALTER TABLE {name} ADD {definition}")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    logging.disable(logging.WARNING)
    with servers():
        from dashboard.results.services.imports import import_results

        documents = sources(count)
        import_results(sources=documents[:CASES])  # creates the series, and warms everything up
        ingest = cost(lambda: import_results(sources=documents[CASES:]))
        floors = {table: copy_table(table) for table in TABLES}
    load = psutil.getloadavg()[0]
    print(
        f"{count - CASES} results in {ingest.wall_s:.1f} s, {ingest.cpu_s:.1f} s of CPU; "
        f"load {load:.1f}"
    )
    for table, floor in floors.items():
        costs = (shown(floor.with_indexes), shown(floor.with_foreign_keys))
        print(f"COPY of {floor.rows:6} rows of {table:8}", *costs, sep="  ")
    # Of the copied rows, those that were ingested while it was measured
    share = (count - CASES) / count
    indexed = [floor.with_indexes for floor in floors.values()]
    keyed = [floor.with_foreign_keys for floor in floors.values()]
    compare("with the same indexes", ingest, share, indexed)
    compare("with the same indexes and foreign keys", ingest, share, keyed)


def shown(cost: Cost) -> str:
    return f"{1000 * cost.wall_s:7.0f} ms, {1000 * cost.cpu_s:5.0f} ms of CPU"


def compare(tables: str, ingest: Cost, share: float, floors: Sequence[Cost]) -> None:
    """Print how many times the rate of ingestion COPY reaches."""
    wall = ingest.wall_s / (share * sum(floor.wall_s for floor in floors))
    cpu = ingest.cpu_s / (share * sum(floor.cpu_s for floor in floors))
    print(f"COPY into tables {tables} reaches {wall:.1f} and by CPU {cpu:.1f} times the rate")


if __name__ == "__main__":
    main()
