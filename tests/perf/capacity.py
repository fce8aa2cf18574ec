"""What one result, one datum, one heartbeat and one message cost: python tests/perf/capacity.py
[RESULTS]

The figures from which docs/operations.md works out how large a fleet may get. It starts a Postgres
and a broker of its own. CPU seconds of this process and of Postgres are told beside wall-clock
seconds: a busy machine stretches the latter alone.
"""

import logging
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
os.environ["SECRET_KEY"] = "only for this measurement, which nobody can reach from outside"
os.environ["DJANGO_SETTINGS_MODULE"] = "dashboard.settings"

import psutil
import redis

from dashboard.local.embedded_broker import EmbeddedBroker
from dashboard.local.embedded_postgres import EmbeddedPostgres

METRICS_OF_A_RESULT = 40
SAMPLES_OF_AN_ARM = 200
QUEUE = 10_000
TABLES = ("job", "result", "datum", "samples", "series")


@contextmanager
def servers() -> Iterator[EmbeddedBroker]:
    """Postgres and broker for this process, migrated."""
    from tests.builders.servers import open_folder

    with open_folder() as folder:
        postgres, broker = EmbeddedPostgres(folder / "postgres"), EmbeddedBroker(folder / "broker")
        os.environ |= {
            "DATABASE_URL": postgres.start(),
            "BROKER_URL": broker.start(),
            "VAR_DIR": str(folder),
        }
        try:
            import django
            from django.core.management import call_command

            django.setup()
            call_command("migrate", verbosity=0)
            yield broker
        finally:
            broker.stop()
            postgres.stop()


def sizes() -> dict[str, int]:
    """Bytes of each table with its indexes and its partitions."""
    from django.db import connection

    total = """SELECT coalesce(sum(pg_total_relation_size(relid)), pg_total_relation_size(%s))
               FROM pg_partition_tree(%s)"""
    with connection.cursor() as cursor:
        found = {}
        for table in TABLES:
            cursor.execute(total, [f"dashboard_{table}"] * 2)
            (found[table],) = cursor.fetchone()
    return {name: int(size or 0) for name, size in found.items()}


def processor_s() -> tuple[float, float]:
    """CPU seconds so far: of this process, and of the Postgres process that serves it."""
    from django.db import connection

    connection.ensure_connection()
    times = psutil.Process(connection.connection.info.backend_pid).cpu_times()
    return time.process_time(), times.user + times.system


def measure(name: str, count: int, work: Callable[[int], Any]) -> None:
    """Do `work` `count` times and print what each one costs."""
    work(0)
    began, (python, postgres) = time.perf_counter(), processor_s()
    for number in range(1, count + 1):
        work(number)
    wall, (python_end, postgres_end) = time.perf_counter() - began, processor_s()
    own, theirs = 1000 * (python_end - python) / count, 1000 * (postgres_end - postgres) / count
    print(
        f"{name:22} {1000 * wall / count:7.2f} ms wall  {own:6.2f} ms CPU here  {theirs:6.2f} "
        "ms CPU in Postgres"
    )


def deliveries(name: str, count: int) -> tuple[Any, list[tuple[Any, bytes]]]:
    """A worker of this name, and its running jobs with what it will deliver for each."""
    from dashboard.language.metrics import METRICS
    from dashboard.models import Job, JobState
    from tests.builders import site

    keys = [key for key in METRICS if key != "status"][:METRICS_OF_A_RESULT]
    worker, made = site.worker(name), []
    for _ in range(count):
        job = site.run(site.MLP, purpose="scheduled").jobs.get()
        Job.objects.filter(pk=job.pk).update(state=JobState.QUEUED)
        job = site.claim(job, worker)
        samples = {arm: arm_samples() for arm in ("eager", "compiled")}
        values = {key: random.gauss(2.0, 0.02) for key in keys}
        result = site.result(job, values, samples=samples)
        made.append((job, site.delivery(job, result)))
    return worker, made


def arm_samples() -> dict[str, Any]:
    """Raw samples of one arm, as the suite writes them."""
    return {
        "unit": "ms",
        "inner": 10,
        "values": [random.gauss(2.0, 0.02) for _ in range(SAMPLES_OF_AN_ARM)],
    }


def take_in(name: str, count: int) -> list[bytes]:
    """Take in results of one case on one build; they as they travel."""
    from dashboard.results.services.ingest import ingest

    worker, waiting = deliveries(name, count + 1)
    measure(
        name,
        count,
        lambda number: ingest(job_id=waiting[number][0].pk, worker=worker, body=waiting[number][1]),
    )
    return [body for _, body in waiting]


def past(count: int) -> None:
    """Bring so many older results of the case, a pinned build's, one each 17 hours."""
    from django.utils import timezone

    from dashboard.language.metrics import METRICS
    from dashboard.results.services.imports import ImportSource, import_results
    from tests.builders import site

    job, now = site.run(site.MLP, purpose="scheduled").jobs.get(), timezone.now()
    keys = [key for key in METRICS if key != "status"][:METRICS_OF_A_RESULT]
    sources = []
    for number in range(count):
        document = site.result(job, {key: random.gauss(2.0, 0.02) for key in keys})
        planned_at = (now - timedelta(hours=17 * number)).isoformat()
        document["job"] |= {"job_id": f"past-{number}", "planned_at": planned_at}
        sources.append(ImportSource(str(number), site.pack(document)))
    import_results(sources=sources, machine="cpu-2c", track="local")


def results(count: int) -> None:
    """Take in results, and say what they take on the disk; then some on top of two years of the
    same build.
    """
    from dashboard.models import Datum

    before = sizes()
    bodies = take_in("a result", count)
    after, data = sizes(), Datum.objects.count()
    packed = sum(map(len, bodies)) / len(bodies)
    print(f"{data / (count + 1):.0f} data in a result, {packed / 1000:.1f} kB packed as it travels")
    print(f"datum {(after['datum'] - before['datum']) / data:.0f} bytes with its indexes")
    for table in ("result", "samples"):
        print(
            f"{table} {(after[table] - before[table]) / (count + 1) / 1000:.2f} kB for each result"
        )
    print(f"job {after['job'] / (count + 1) / 1000:.2f} kB each")
    past(1000)
    take_in("a result, 1,000 before", count)


def heartbeats(count: int) -> None:
    """The idle worker's call, through the whole of Django."""
    from django.test import Client

    from dashboard.runs.services.fleet import renew_token
    from tests.builders import site

    token = renew_token(worker=site.worker("idle"))
    client = Client(headers={"Authorization": f"Bearer {token}", "host": "localhost"})
    address, body = "/api/v1/worker/alive", {"boot_id": site.BOOT}
    assert client.post(address, body, content_type="application/json").status_code == 200
    measure(
        "a heartbeat", count, lambda _: client.post(address, body, content_type="application/json")
    )


def claims(count: int) -> None:
    """Claim jobs out of a short and a long queue of two runs: each claim has the next message
    sent.
    """
    from dashboard.models import Job, JobState
    from dashboard.runs.services.dispatch import dispatch
    from dashboard.runs.services.leases import claim
    from tests.builders import site

    def line(length: int) -> None:
        for like in (site.run(site.MLP, purpose="scheduled").jobs.get() for _ in range(2)):
            case = {
                key: getattr(like, key)
                for key in ("run", "benchmark", "config", "spec", "planned_at")
            }
            Job.objects.bulk_create(Job(**case, turn=turn) for turn in range(1, length // 2))
        dispatch()

    def claim_next(_: int) -> None:
        job = Job.objects.only("pk").filter(state=JobState.QUEUED, dispatched_at__isnull=False)[0]
        claim(job_id=job.pk, attempt=1, worker=worker, boot_id=site.BOOT)

    worker = site.worker("claiming")
    for length in (count + 10, QUEUE):
        line(length)
        measure(f"a claim, {length:,} wait", count, claim_next)


def messages(broker: EmbeddedBroker, count: int) -> None:
    """What a queued job takes in the broker's memory."""
    from dashboard.celery import app

    server = redis.Redis(unix_socket_path=str(broker.socket_path))
    before = server.info("memory")["used_memory"]
    measure(
        "a message",
        count,
        lambda n: app.send_task("runner.run_job", args=["0" * 36, n], queue="machine.cpu-2c"),
    )
    print(
        f"message {(server.info('memory')['used_memory'] - before) / count:.0f} bytes in the broker"
    )


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    load = psutil.getloadavg()[0]
    logging.disable(logging.WARNING)
    print(f"{count} of each, {psutil.cpu_count()} cores, load {load:.1f}")
    with servers() as broker:
        results(count)
        heartbeats(count)
        claims(count)
        messages(broker, count)


if __name__ == "__main__":
    main()
