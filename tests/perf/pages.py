"""How long the pages take on a big history, beside the floor for the same work in the same run.

    manage.py generate_history --series 20000 --points 500        makes the history
    python tests/perf/pages.py [--json FILE] [--beside FILE]      on the site's database, static
    files collected

Server time by Django's test client, warm, signed in, every middleware and the compression of the
answer included. The floor of the data endpoint is the bare SQL of the same series through psycopg,
plus the JSON encoding of its rows. CPU time, of this process and its Postgres process together, is
what counts where the machine has other work. Series of 5,000 and of 100,000 points are written for
this alone, in a transaction that is rolled back. `--json` keeps the times, and `--beside` compares
them with kept ones, of a smaller history for example.
"""

import argparse
import gzip
import json
import logging
import os
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parents[2]))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")

from dashboard import wsgi  # noqa: F401 - as the web server: Django, and what it asks of the garbage collector

# isort: split
import orjson
import psutil
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard.models import Datum, Job, Series, TorchBuild
from dashboard.results.selectors import trend
from tests.perf.long_series import LONG, SPIKE, write_series

REPEATS = 15
BOUNDS_MS = {
    "/": 150.0,
    "/benchmarks/": 150.0,
    "matrix against a base": 150.0,
    "/compare/": 150.0,
    "series page": 30.0,
}
SAME = 1.2  # times the CPU on another history: what is "the same"
TIMES_THE_FLOOR = 2.0
MOST_QUERIES = 10
LARGE_TABLE = 5_000  # rows, from which on a query without an index counts


class Timing(NamedTuple):
    """median, worst: wall clock, ms. cpu: mean CPU time of this process and of its Postgres
    process, ms.
    """

    median: float
    worst: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.median:7.1f} {self.worst:8.1f} {self.cpu:8.1f}"


def timed(work: Callable[[], Any]) -> Timing:
    """Some repeats, after two to warm up."""
    work()
    work()
    times, begin = [], cpu_s()
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(1000 * (time.perf_counter() - start))
    return Timing(statistics.median(times), max(times), 1000 * (cpu_s() - begin) / REPEATS)


def cpu_s() -> float:
    """CPU seconds of this process and of the Postgres process that serves it, where that runs on
    this machine.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (backend,) = cursor.fetchone()
    used = [
        psutil.Process(pid).cpu_times() for pid in (os.getpid(), backend) if psutil.pid_exists(pid)
    ]
    return sum(one.user + one.system for one in used)


def reader() -> Client:
    """Signed in, and taking compressed answers as browsers do."""
    client = Client(headers={"host": "localhost", "accept-encoding": "gzip"})
    client.force_login(User.objects.get_or_create(username="perf-reader")[0])
    return client


# --- What is measured
# ---------------------------------------------------------------------------------------
class Report:
    """Prints a line for everything that is measured, and keeps the times."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.took: dict[str, Timing] = {}
        self.over: list[str] = []
        print(f"{'ms':38} median    worst      CPU  queries  compressed")

    def floor(self, name: str, series: Series) -> Timing:
        """The rows of one series as psycopg gives them, as JSON: nothing can answer faster."""
        given = {"series": [series.pk], "failures": [], "newest": None, "start": None, "end": None}

        def bare() -> bytes:
            with connection.cursor() as cursor:
                cursor.execute(trend._DATA, given)
                return orjson.dumps(list(zip(*cursor.fetchall(), strict=True)))

        took = timed(bare)
        print(f"{name:38}{took}")
        return took

    def page(self, name: str, address: str, floor: Timing | None = None) -> None:
        answer = self.client.get(address)
        assert answer.status_code == 200, f"{address} answered {answer.status_code}"
        took = timed(lambda: self.client.get(address))
        with CaptureQueriesContext(connection) as captured:
            self.client.get(address)
        scanned = scans(captured)
        self.took[name] = took
        told = (
            [f"{took.median / floor.median:.1f} × the floor, {took.cpu / floor.cpu:.1f} × its CPU"]
            if floor
            else []
        )
        told += self._judge(name, took.median, len(captured), floor.median if floor else None)
        told += [f"without an index: {', '.join(sorted(scanned))}"] if scanned else []
        print(f"{name:38}{took} {len(captured):8} {size(answer):8.1f} kB  {'; '.join(told)}")

    def _judge(self, name: str, median: float, queries: int, floor: float | None) -> list[str]:
        bound = TIMES_THE_FLOOR * floor if floor else BOUNDS_MS.get(name)
        over = [f"over {bound:.0f} ms"] if bound and median > bound else []
        over += [f"more than {MOST_QUERIES} queries"] if queries > MOST_QUERIES else []
        self.over += [f"{name}: {one}" for one in over]
        return over


def size(answer: Any) -> float:
    """kB that travel."""
    return (
        len(
            answer.content
            if answer.headers.get("Content-Encoding")
            else gzip.compress(answer.content)
        )
        / 1000
    )


def scans(captured: CaptureQueriesContext) -> set[str]:
    """Large tables that a query reads without an index, as EXPLAIN tells."""
    found: set[str] = set()
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname, reltuples FROM pg_class WHERE relkind IN ('r', 'p')")
        rows = dict(cursor.fetchall())
        for query in captured.captured_queries:
            if query["sql"].lstrip(" (\n").upper().startswith(("SELECT", "WITH")):
                cursor.execute(f"EXPLAIN (FORMAT JSON) {query['sql']}".replace("%", "%%"), [])
                plan = cursor.fetchone()[0]
                found |= {
                    one for one in _scanned(plan[0]["Plan"]) if rows.get(one, 0) > LARGE_TABLE
                }
    return found


def _scanned(node: dict[str, Any]) -> Iterator[str]:
    if node["Node Type"] == "Seq Scan":
        yield node["Relation Name"]
    for child in node.get("Plans", ()):
        yield from _scanned(child)


# --- The whole
# ----------------------------------------------------------------------------------------------
def measure_long(report: Report) -> None:
    for points, apart in LONG:
        with transaction.atomic():
            series = write_series(points, apart)
            floor = report.floor(f"floor: SQL and JSON of {points:,} points", series)
            address = f"/series/{series.benchmark}/data.json?machine={series.machine.key}&track={series.track.key}"
            report.page(f"data endpoint, {points:,} points", address, floor)
            figure = json.loads(gzip.decompress(report.client.get(address).content))
            line = next(trace for trace in figure["data"] if trace["meta"]["role"] == "line")
            print(
                f"{'':38}{len(line['x']):,} points sent, the one spike "
                f"{'kept' if SPIKE in line['y'] else 'LOST'}"
            )
            transaction.set_rollback(True)


def measure_pages(report: Report) -> None:
    series = (
        Series.objects.filter(metric="latency_ms", count__gt=0)
        .select_related("benchmark")
        .order_by("-count")[0]
    )
    base = TorchBuild.objects.filter(runs__machine=series.machine).distinct().order_by("-pk")[1]
    job = Job.objects.filter(run__machine=series.machine).latest("planned_at")
    place = f"machine={series.machine.key}&track={series.track.key}"
    report.page("/", f"/?{place}")
    report.page("/benchmarks/", f"/benchmarks/?{place}")
    report.page("matrix against a base", f"/benchmarks/?{place}&base={quote(base.label)}")
    report.page("series page", f"/series/{series.benchmark}/?{place}")
    for name in (
        "/compare/",
        "/versions/",
        "/runs/",
        "/fleet/",
        "/search/?q=gpt2",
        f"/runs/{job.run_id}/",
        f"/jobs/{job.pk}/",
    ):
        report.page(name[:38], name)


def first_visit(client: Client) -> float:
    """kB of everything that a first visit to a page with a chart loads, as whitenoise sends it."""
    series = Series.objects.filter(metric="latency_ms").select_related("benchmark")[0]
    answer = client.get(f"/series/{series.benchmark}/")
    page = gzip.decompress(answer.content).decode()
    files = {
        Path(settings.STATIC_ROOT) / one
        for one in re.findall(r'(?:src|href)="/static/([^"]+)"', page)
    }
    smallest = [
        min(one.stat().st_size for one in file.parent.glob(f"{file.name}*")) for file in files
    ]
    return size(answer) + sum(smallest) / 1000


def hold_beside(took: dict[str, Timing], before: dict[str, list[float]]) -> None:
    """Print how many times as long each took as on another history, and whether that is the same
    within 20 %.
    """
    for name in (one for one in took if one in before):
        wall, cpu = took[name].median / before[name][0], took[name].cpu / before[name][2]
        said = "the same within 20 %" if cpu <= SAME else "MORE than 20 % longer"
        print(f"{name:38}{wall:6.2f} × as long as beside, {cpu:.2f} × the CPU: {said}")


def main() -> int:
    logging.disable(logging.WARNING)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--beside", type=Path)
    chosen = parser.parse_args()
    print(f"{Series.objects.count():,} series, {Datum.objects.count():,} data")
    report = Report(reader())
    measure_pages(report)
    measure_long(report)
    print(f"A first visit to a page with a chart loads {first_visit(report.client):,.0f} kB")
    print(f"Over their bounds: {'; '.join(report.over) or 'none'}")
    if chosen.json:
        chosen.json.write_text(json.dumps(report.took, indent=1))
    if chosen.beside:
        hold_beside(report.took, json.loads(chosen.beside.read_text()))
    return 1 if report.over else 0


if __name__ == "__main__":
    sys.exit(main())
