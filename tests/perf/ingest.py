"""How fast results are taken in, beside COPY of the same rows: python tests/perf/ingest.py [RESULTS]

1,000 results with 40 metrics and twice 200 raw samples are imported into an empty database; then the very rows that
this made are copied from Python into tables with the same columns and indexes, which is the floor: nothing is unpacked
or checked, and no series, no rollup and no job is looked up.
"""

import logging
import random
import sys
import time
from collections.abc import Callable
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

    from dashboard.metrics import METRICS
    from dashboard.services.imports import Source
    from tests.builders import site

    job = site.run(site.MLP, purpose="scheduled").jobs.get()
    keys = [key for key in METRICS if key != "status"][:METRICS_OF_A_RESULT]
    made = []
    for number in range(count):
        values = {key: random.gauss(2.0, 0.02) for key in keys}
        document = site.result(job, values, samples={arm: arm_samples() for arm in ("eager", "compiled")})
        name = site.MLP.replace("b64", f"b{1 + number % CASES}")
        document["benchmark"] |= {"name": name, "batch_size": 1 + number % CASES}
        document["job"] = {
            **document["job"], "job_id": f"perf-{number}", "benchmark": name, "planned_at": timezone.now().isoformat(),
        }  # fmt: skip
        made.append(Source(str(number), site.pack(document)))
    return made


class Cost(NamedTuple):
    """Seconds of the clock; and of CPU, of this process and its Postgres process: others cannot stretch these."""

    wall_s: float
    cpu_s: float


def cost(work: Callable[[], object]) -> Cost:
    began, used = time.perf_counter(), sum(processor_s())
    work()
    return Cost(time.perf_counter() - began, sum(processor_s()) - used)


def copied(table: str) -> tuple[Cost, int]:
    """What COPY of all rows of a table costs, as Python has them, into an empty one with the same indexes; how many."""
    from django.db import connection

    from dashboard.services.copying import copy_rows

    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE twin_{table} (LIKE dashboard_{table} INCLUDING ALL)")
        cursor.execute(f"SELECT * FROM dashboard_{table}")
        names, rows = [column.name for column in cursor.description], cursor.fetchall()
    return cost(lambda: copy_rows(f"twin_{table}", names, rows)), len(rows)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    logging.disable(logging.WARNING)
    with servers():
        from dashboard.services.imports import import_results

        waiting = sources(count)
        import_results(sources=waiting[:CASES])  # makes the series, and warms everything up
        ingest = cost(lambda: import_results(sources=waiting[CASES:]))
        floors = {table: copied(table) for table in TABLES}
    load = psutil.getloadavg()[0]
    print(f"{count - CASES} results in {ingest.wall_s:.1f} s, {ingest.cpu_s:.1f} s of CPU; load {load:.1f}")
    for table, (spent, rows) in floors.items():
        print(f"COPY of {rows:6} rows of {table:8} {1000 * spent.wall_s:7.0f} ms, {1000 * spent.cpu_s:7.0f} ms of CPU")
    share = (count - CASES) / count  # of the copied rows, those that were taken in while it was measured
    for kind in Cost._fields:
        floor, ours = share * sum(getattr(spent, kind) for spent, _ in floors.values()), getattr(ingest, kind)
        print(f"by {kind}: COPY of the same rows reaches {ours / floor:.1f} times the rate")


if __name__ == "__main__":
    main()
