"""How fast results are taken in, beside COPY of the same rows: python tests/perf/ingest.py
[RESULTS]

1,000 results with 40 metrics and twice 200 raw samples are imported into an empty database; then
the very rows that this made are copied from Python, which is the floor: nothing is unpacked or
checked, and no series, no rollup and no job is looked up. Once into tables with the same columns
and indexes, and once into such that have the foreign keys too.
"""

import logging
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))

import psutil

from tests.perf.capacity import METRICS_OF_A_RESULT, arm_samples, processor_s, servers

TABLES = ("job", "result", "samples", "datum")
CASES = 100  # series are found for most results and made for a few, as in a fleet


def sources(count: int) -> list[Any]:
    """Result documents of different jobs, as files bring them."""
    from django.utils import timezone

    from dashboard.language.metrics import METRICS
    from dashboard.results.services.imports import ImportSource
    from tests.builders import site

    job = site.run(site.MLP, purpose="scheduled").jobs.get()
    keys = [key for key in METRICS if key != "status"][:METRICS_OF_A_RESULT]
    made = []
    for number in range(count):
        values = {key: random.gauss(2.0, 0.02) for key in keys}
        document = site.result(
            job, values, samples={arm: arm_samples() for arm in ("eager", "compiled")}
        )
        name = site.MLP.replace("b64", f"b{1 + number % CASES}")
        document["benchmark"] |= {"name": name, "batch_size": 1 + number % CASES}
        document["job"] = {
            **document["job"],
            "job_id": f"perf-{number}",
            "benchmark": name,
            "planned_at": timezone.now().isoformat(),
        }
        made.append(ImportSource(str(number), site.pack(document)))
    return made


class Cost(NamedTuple):
    """Seconds of the clock; and of CPU, of this process and its Postgres process: others cannot
    stretch these.
    """

    wall_s: float
    cpu_s: float


def cost(work: Callable[[], object]) -> Cost:
    began, used = time.perf_counter(), sum(processor_s())
    work()
    return Cost(time.perf_counter() - began, sum(processor_s()) - used)


def copied(table: str) -> tuple[int, Cost, Cost]:
    """Copy all rows of a table, as Python has them, into an empty one with the same indexes, and
    then into one that has the same foreign keys as well: how many rows, and what either costs, its
    commit included.
    """
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM dashboard_{table}")
        names, rows = [column.name for column in cursor.description], cursor.fetchall()
    bare, keyed = (
        copied_into(twin(table, foreign_keys), names, rows) for foreign_keys in (False, True)
    )
    return len(rows), bare, keyed


def twin(table: str, foreign_keys: bool) -> str:
    """An empty table like this one; its name."""
    from django.db import connection

    name = f"{'keyed' if foreign_keys else 'bare'}_{table}"
    of_table = (
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'f' AND "
        "conrelid = %s::regclass"
    )
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {name} (LIKE dashboard_{table} INCLUDING ALL)")
        cursor.execute(of_table, [f"dashboard_{table}"])
        for (definition,) in cursor.fetchall() if foreign_keys else ():
            cursor.execute(f"ALTER TABLE {name} ADD {definition}")
    return name


def copied_into(table: str, names: Sequence[str], rows: Sequence[Any]) -> Cost:
    from dashboard.results.services.copying import copy_rows

    return cost(lambda: copy_rows(table, names, rows))


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    logging.disable(logging.WARNING)
    with servers():
        from dashboard.results.services.imports import import_results

        waiting = sources(count)
        import_results(sources=waiting[:CASES])  # makes the series, and warms everything up
        ingest = cost(lambda: import_results(sources=waiting[CASES:]))
        floors = {table: copied(table) for table in TABLES}
    load = psutil.getloadavg()[0]
    print(
        f"{count - CASES} results in {ingest.wall_s:.1f} s, {ingest.cpu_s:.1f} s of CPU; load "
        f"{load:.1f}"
    )
    for table, (rows, *spent) in floors.items():
        told = (f"{1000 * one.wall_s:7.0f} ms, {1000 * one.cpu_s:5.0f} ms of CPU" for one in spent)
        print(f"COPY of {rows:6} rows of {table:8}", *told, sep="  ")
    # Of the copied rows, those that were taken in while it was measured
    share = (count - CASES) / count
    for at, what in enumerate(
        ("with the same indexes", "with the same indexes and foreign keys"), 1
    ):
        floor = [
            share * sum(column)
            for column in zip(*(found[at] for found in floors.values()), strict=True)
        ]
        times = (f"{ours / theirs:.1f}" for ours, theirs in zip(ingest, floor, strict=True))
        print(f"COPY into tables {what} reaches {' and by CPU '.join(times)} times the rate")


if __name__ == "__main__":
    main()
