"""Times of the pages on a big history: python tests/lab/pages.py, on the site's database.

    manage.py shell -c "from tests.builders.pages import history; history(20000, 500)"
        makes one of 10 million data

Static files have to be collected. The times are of Django's test client, warm and signed in, with
every middleware and the compression of the response. CPU time, of this process and its Postgres
process together, is what counts where the machine has other work. Exits with 1 where a page takes
longer than BOUNDS_MS, or more queries than it should.
"""

import gzip
import logging
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parents[2]))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")

# As the web server: sets up Django and the garbage collector
from dashboard import wsgi  # noqa: F401

# isort: split
import psutil
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard.models import AlertGroup, Datum, Job, Series, TorchBuild

REPEATS = 40
BOUNDS_MS = {
    "/": 150.0,
    "/benchmarks/": 150.0,
    "matrix against a base": 150.0,
    "/compare/": 150.0,
    "series page": 30.0,
}
MOST_QUERIES = 10
MOST_QUERIES_OF = {
    # What changed with its chart, which release, each family, who works: each is read on its own
    "/": 17,
    # The choices of its filters are four
    "alerts": 13,
    # The evidence, the kernels, the history, the searches, the issue: each of its own tables
    "an alert": 24,
}
LARGE_TABLE = 5_000  # rows; in smaller tables a query without an index is fine


class Timing(NamedTuple):
    """Milliseconds.

    median, worst: wall-clock time
    cpu: mean CPU time of this process and its Postgres process
    """

    median: float
    worst: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.median:7.1f} {self.worst:8.1f} {self.cpu:8.1f}"


def timed(work: Callable[[], Any]) -> Timing:
    """REPEATS calls, after two to warm up."""
    work()
    work()
    times_ms, cpu_began = [], cpu_s()
    for _ in range(REPEATS):
        began = time.perf_counter()
        work()
        times_ms.append(1000 * (time.perf_counter() - began))
    cpu_ms = 1000 * (cpu_s() - cpu_began) / REPEATS
    return Timing(statistics.median(times_ms), max(times_ms), cpu_ms)


def cpu_s() -> float:
    """CPU seconds of this process and, if on this machine, the Postgres process that serves it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (backend,) = cursor.fetchone()
    seconds = 0.0
    for pid in filter(psutil.pid_exists, (os.getpid(), backend)):
        times = psutil.Process(pid).cpu_times()
        seconds += times.user + times.system
    return seconds


def reader() -> Client:
    """A client that is signed in, and accepts compressed responses as browsers do."""
    client = Client(headers={"host": "localhost", "accept-encoding": "gzip"})
    user, _ = User.objects.get_or_create(username="perf-reader")
    client.force_login(user)
    return client


class Report:
    """Prints a line for everything that is measured, and keeps the times."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.exceeded: list[str] = []
        print(f"{'ms':38} median    worst      CPU  queries  compressed")

    def page(self, name: str, address: str) -> None:
        response = self.client.get(address)
        assert response.status_code == 200, f"{address} answered {response.status_code}"
        timing = timed(lambda: self.client.get(address))
        with CaptureQueriesContext(connection) as queries:
            self.client.get(address)
        bound_ms = BOUNDS_MS.get(name)
        exceeded = []
        if bound_ms and timing.median > bound_ms:
            exceeded.append(f"over {bound_ms:.0f} ms")
        most = MOST_QUERIES_OF.get(name, MOST_QUERIES)
        if len(queries) > most:
            exceeded.append(f"more than {most} queries")
        self.exceeded += [f"{name}: {bound}" for bound in exceeded]
        remarks = list(exceeded)
        scanned = large_scans(queries)
        if scanned:
            remarks.append(f"without an index: {', '.join(sorted(scanned))}")
        sent = f"{len(queries):8} {compressed_kb(response):8.1f} kB"
        print(f"{name:38}{timing} {sent}  {'; '.join(remarks)}")


def compressed_kb(response: Any) -> float:
    body = response.content
    if not response.headers.get("Content-Encoding"):
        body = gzip.compress(body)
    return len(body) / 1000


def large_scans(queries: CaptureQueriesContext) -> set[str]:
    """Large tables that a query reads without an index, according to EXPLAIN."""
    scanned: set[str] = set()
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname, reltuples FROM pg_class WHERE relkind IN ('r', 'p')")
        rows = dict(cursor.fetchall())
        for query in queries.captured_queries:
            if query["sql"].lstrip(" (\n").upper().startswith(("SELECT", "WITH")):
                cursor.execute(f"EXPLAIN (FORMAT JSON) {query['sql']}".replace("%", "%%"), [])
                plan = cursor.fetchone()[0]
                scanned.update(_scanned(plan[0]["Plan"]))
    return {table for table in scanned if rows.get(table, 0) > LARGE_TABLE}


def _scanned(node: dict[str, Any]) -> Iterator[str]:
    """The tables that a node of a query plan, or one below it, reads without an index."""
    if node["Node Type"] == "Seq Scan":
        yield node["Relation Name"]
    for child in node.get("Plans", ()):
        yield from _scanned(child)


def measure_pages(report: Report) -> None:
    series = (
        Series.objects.filter(metric="latency_ms", count__gt=0)
        .select_related("benchmark")
        .order_by("-count")[0]
    )
    base = TorchBuild.objects.filter(runs__machine=series.machine).distinct().order_by("-pk")[1]
    job = Job.objects.filter(run__machine=series.machine).latest("planned_at")
    selection = f"machine={series.machine.key}&track={series.track.key}"
    report.page("/", f"/?{selection}")
    report.page("/benchmarks/", f"/benchmarks/?{selection}")
    report.page("matrix against a base", f"/benchmarks/?{selection}&base={quote(base.label)}")
    report.page("series page", f"/series/{series.benchmark}/?{selection}")
    alert = AlertGroup.objects.order_by("pk").first()
    if alert is not None:
        report.page("an alert", alert.get_absolute_url())
        report.page("alerts", "/alerts/?state=all&direction=all")
        report.page("alerts in the API", "/api/v1/alerts?state=all&direction=all&page_size=100")
    for address in (
        "/compare/",
        "/experiments/",
        "/runs/",
        "/fleet/",
        "/search/?q=gpt2",
        f"/runs/{job.run_id}/",
        f"/jobs/{job.pk}/",
    ):
        report.page(address[:38], address)


def main() -> int:
    logging.disable(logging.WARNING)
    print(f"{Series.objects.count():,} series, {Datum.objects.count():,} data")
    report = Report(reader())
    measure_pages(report)
    print(f"Over their bounds: {'; '.join(report.exceeded) or 'none'}")
    return 1 if report.exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
