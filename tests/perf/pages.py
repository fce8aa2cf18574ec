"""How long the pages take, beside the floor for the same work. On the site's database: python tests/perf/pages.py

For a history to measure on: manage.py generate_history --series 20000 --points 500. Server time by Django's test
client, middleware and sign-in included, warm; the floor of the data endpoint is its SQL through psycopg plus the JSON
encoding.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")

import django

django.setup()

import orjson
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard.models import Datum, Job, Run, Series
from dashboard.selectors import trend

REPEATS = 15


def milliseconds(work: Callable[[], Any]) -> tuple[float, float]:
    """(median, worst) of some repeats, after one to warm up."""
    work()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times), max(times)


def reader() -> Client:
    client = Client(headers={"host": "localhost"})
    client.force_login(User.objects.get_or_create(username="perf-reader")[0])
    return client


def bare(series: Series) -> bytes:
    """The rows of one series as psycopg gives them, as JSON: nothing can answer faster."""
    with connection.cursor() as cursor:
        cursor.execute(trend._DATA, {"series": [series.pk], "failures": [], "newest": None, "start": None, "end": None})
        columns = list(zip(*cursor.fetchall(), strict=True))
    return orjson.dumps(columns)


def report(name: str, work: Callable[[], Any], floor: float | None = None) -> float:
    median, worst = milliseconds(work)
    with CaptureQueriesContext(connection) as captured:
        work()
    beside = f"  {median / floor:4.1f} × the floor" if floor else ""
    print(f"{name:34} {median:8.1f} ms  worst {worst:8.1f}  {len(captured):2} queries{beside}")
    return median


def main() -> None:
    client = reader()
    longest = Series.objects.filter(metric="latency_ms", count__gt=0).order_by("-count")
    series = longest.select_related("benchmark", "config")[0]
    address = f"/series/{series.benchmark}/"
    place = f"machine={series.machine.key}&track={series.track.key}"
    print(f"{Series.objects.count()} series, {Datum.objects.count()} data; {series.count} points in the longest")
    floor = report("floor: SQL and JSON of one series", lambda: bare(series))
    report("data endpoint, one config", lambda: client.get(f"{address}data.json?{place}&config={series.config}"), floor)
    report("data endpoint, all configs", lambda: client.get(f"{address}data.json?{place}"))
    run, job = Run.objects.latest("created_at"), Job.objects.latest("planned_at")
    lists = ("/", "/benchmarks/", "/benchmarks/?family=llm", "/runs/", "/fleet/", "/compare/", "/versions/")
    for name in (*lists, f"{address}?{place}", f"/runs/{run.pk}/", f"/jobs/{job.pk}/"):
        report(name[:34], lambda name=name: client.get(name))


if __name__ == "__main__":
    main()
