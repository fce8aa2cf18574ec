"""How long the pages take on a big history, next to the floor for the same work in the same run.

    manage.py shell -c "from tests.builders.pages import history; history(20000, 500)"
    python tests/perf/pages.py [--json FILE] [--beside FILE]      on the site's database

Static files have to be collected. The times are of Django's test client, warm and signed in, with
every middleware and the compression of the response. The floor of the data endpoint is the bare SQL
of the same series through psycopg, plus the JSON encoding of its rows. CPU time, of this process
and its Postgres process together, is what counts where the machine has other work. Series of 5,000
and of 100,000 points are written for this alone, in a transaction that is rolled back. `--json`
saves the times, and `--beside` compares them with saved ones, of a smaller history for example.
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

# As the web server: sets up Django and the garbage collector
from dashboard import wsgi  # noqa: F401

# isort: split
import orjson
import psutil
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard.models import AlertGroup, Datum, Job, Series, TorchBuild
from dashboard.results.selectors import trend
from tests.perf.long_series import LONG, SPIKE, remove, write_series

REPEATS = 40
BOUNDS_MS = {
    "/": 150.0,
    "/benchmarks/": 150.0,
    "matrix against a base": 150.0,
    "/compare/": 150.0,
    "series page": 30.0,
}
SAME = 1.2  # up to so many times the CPU of another history counts as "the same"
TIMES_THE_FLOOR = 2.0
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
        self.timings: dict[str, Timing] = {}
        self.exceeded: list[str] = []
        print(f"{'ms':38} median    worst      CPU  queries  compressed")

    def floor(self, name: str, series: Series) -> Timing:
        """The rows of one series as psycopg gives them, as JSON: nothing can answer faster."""
        parameters = {
            "series": [series.pk],
            "failures": [],
            "newest": None,
            "start": None,
            "end": None,
        }

        def query_and_encode() -> bytes:
            with connection.cursor() as cursor:
                cursor.execute(trend._DATA, parameters)
                return orjson.dumps(list(zip(*cursor.fetchall(), strict=True)))

        timing = timed(query_and_encode)
        print(f"{name:38}{timing}")
        return timing

    def page(self, name: str, address: str, floor: Timing | None = None) -> None:
        response = self.client.get(address)
        assert response.status_code == 200, f"{address} answered {response.status_code}"
        timing = self.timings[name] = timed(lambda: self.client.get(address))
        with CaptureQueriesContext(connection) as queries:
            self.client.get(address)
        remarks = []
        bound_ms = BOUNDS_MS.get(name)
        if floor:
            bound_ms = TIMES_THE_FLOOR * floor.median
            times, cpu_times = timing.median / floor.median, timing.cpu / floor.cpu
            remarks.append(f"{times:.1f} × the floor, {cpu_times:.1f} × its CPU")
        exceeded = []
        if bound_ms and timing.median > bound_ms:
            exceeded.append(f"over {bound_ms:.0f} ms")
        most = MOST_QUERIES_OF.get(name, MOST_QUERIES)
        if len(queries) > most:
            exceeded.append(f"more than {most} queries")
        self.exceeded += [f"{name}: {bound}" for bound in exceeded]
        remarks += exceeded
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


def measure_long(report: Report) -> None:
    """The data endpoint on long series."""
    for points, apart in LONG:
        with transaction.atomic():
            series = write_series(points, apart)
            floor = report.floor(f"floor: SQL and JSON of {points:,} points", series)
            selection = f"machine={series.machine.key}&track={series.track.key}"
            address = f"/series/{series.benchmark}/data.json?{selection}"
            report.page(f"data endpoint, {points:,} points", address, floor)
            figure = json.loads(gzip.decompress(report.client.get(address).content))
            line = next(trace for trace in figure["data"] if trace["meta"]["role"] == "line")
            spike = "kept" if SPIKE in line["y"] else "LOST"
            print(f"{'':38}{len(line['x']):,} points sent, the one spike {spike}")
            transaction.set_rollback(True)


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
        "/versions/",
        "/runs/",
        "/fleet/",
        "/search/?q=gpt2",
        f"/runs/{job.run_id}/",
        f"/jobs/{job.pk}/",
    ):
        report.page(address[:38], address)


def first_visit_kb(client: Client) -> float:
    """kB of everything that a first visit to a page with a chart loads, as whitenoise sends it."""
    series = Series.objects.filter(metric="latency_ms").select_related("benchmark")[0]
    response = client.get(f"/series/{series.benchmark}/")
    page = gzip.decompress(response.content).decode()
    total_kb = compressed_kb(response)
    for name in set(re.findall(r'(?:src|href)="/static/([^"]+)"', page)):
        file = Path(settings.STATIC_ROOT) / name
        variants = file.parent.glob(f"{file.name}*")  # as it is, and compressed
        total_kb += min(variant.stat().st_size for variant in variants) / 1000
    return total_kb


def compare(timings: dict[str, Timing], saved: dict[str, list[float]]) -> None:
    """Print how many times as long each took as on another history."""
    for name, timing in timings.items():
        if name not in saved:
            continue
        other = Timing(*saved[name])
        times, cpu_times = timing.median / other.median, timing.cpu / other.cpu
        verdict = "the same within 20%" if cpu_times <= SAME else "MORE than 20% longer"
        print(f"{name:38}{times:6.2f} × as long as there, {cpu_times:.2f} × the CPU: {verdict}")


def main() -> int:
    logging.disable(logging.WARNING)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--beside", type=Path)
    options = parser.parse_args()
    for points, _ in LONG:
        remove(points)  # what a script that was killed left, would be the longest series here
    print(f"{Series.objects.count():,} series, {Datum.objects.count():,} data")
    report = Report(reader())
    measure_pages(report)
    measure_long(report)
    print(f"A first visit to a page with a chart loads {first_visit_kb(report.client):,.0f} kB")
    print(f"Over their bounds: {'; '.join(report.exceeded) or 'none'}")
    if options.json:
        options.json.write_text(json.dumps(report.timings, indent=1))
    if options.beside:
        compare(report.timings, json.loads(options.beside.read_text()))
    return 1 if report.exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
