"""What a result, datum, judgement, heartbeat and message cost: tests/lab/capacity.py [RESULTS]

The figures from which docs/operations.md works out how large a fleet may get. It starts its own
Postgres and broker. CPU time of this process and of Postgres is reported next to wall-clock time,
which alone is longer on a busy machine.
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

METRICS_PER_RESULT = 40
SAMPLES_PER_ARM = 200
LONG_QUEUE = 10_000
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
    sizes = {}
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(total, [f"dashboard_{table}"] * 2)
            sizes[table] = int(cursor.fetchone()[0] or 0)
    return sizes


def processor_s() -> tuple[float, float]:
    """CPU seconds so far: of this process, and of the Postgres process that serves it."""
    from django.db import connection

    connection.ensure_connection()
    times = psutil.Process(connection.connection.info.backend_pid).cpu_times()
    return time.process_time(), times.user + times.system


def measure(name: str, count: int, work: Callable[[int], Any]) -> None:
    """Call `work` `count` times, after once to warm up, and print what a call costs."""
    from django.db import connection

    queries = 0

    def count_query(execute: Callable[..., Any], *query: Any) -> Any:
        nonlocal queries
        queries += 1
        return execute(*query)

    work(0)
    began, (python_began, postgres_began) = time.perf_counter(), processor_s()
    with connection.execute_wrapper(count_query):
        for number in range(1, count + 1):
            work(number)
    wall_s = time.perf_counter() - began
    python_ended, postgres_ended = processor_s()
    python_ms = 1000 * (python_ended - python_began) / count
    postgres_ms = 1000 * (postgres_ended - postgres_began) / count
    print(
        f"{name:22} {1000 * wall_s / count:7.2f} ms wall  {python_ms:6.2f} ms CPU here  "
        f"{postgres_ms:6.2f} ms CPU in Postgres  {queries / count:5.1f} queries"
    )


def random_values() -> dict[str, float]:
    """A value of each metric of a result."""
    from dashboard.language.metrics import METRICS

    metrics = [metric for metric in METRICS if metric != "status"][:METRICS_PER_RESULT]
    return {metric: random.gauss(2.0, 0.02) for metric in metrics}


def random_samples() -> dict[str, Any]:
    """Raw samples of both arms, as the suite writes them."""
    samples = {}
    for arm in ("eager", "compiled"):
        values = [random.gauss(2.0, 0.02) for _ in range(SAMPLES_PER_ARM)]
        samples[arm] = {"unit": "ms", "inner": 10, "values": values}
    return samples


def random_delivery(job: Any) -> bytes:
    """What a worker posts at the end of this job, with every metric and sample."""
    from tests.builders import site

    return site.delivery(job, site.result(job, random_values(), samples=random_samples()))


def ingest_results(name: str, count: int) -> list[bytes]:
    """Ingest results of one case on one build; their bodies, compressed."""
    from dashboard.models import Job, JobState
    from dashboard.results.services.ingest import ingest
    from tests.builders import site

    worker = site.worker(name)
    jobs, bodies = [], []
    for _ in range(count + 1):
        job = site.run(site.MLP, purpose="scheduled").jobs.get()
        Job.objects.filter(pk=job.pk).update(state=JobState.QUEUED)
        job = site.claim(job, worker)
        jobs.append(job)
        bodies.append(random_delivery(job))
    measure(
        name,
        count,
        lambda number: ingest(
            job_id=jobs[number].pk,
            worker=worker,
            body=bodies[number],
        ),
    )
    return bodies


def import_history(count: int) -> None:
    """Import so many older results of the case, of a pinned build, one each 17 hours."""
    from django.utils import timezone

    from dashboard.results.services.import_existing import ImportSource
    from dashboard.results.services.imports import import_results
    from tests.builders import site

    job, now = site.run(site.MLP, purpose="scheduled").jobs.get(), timezone.now()
    sources = []
    for number in range(count):
        document = site.result(job, random_values())
        planned_at = (now - timedelta(hours=17 * number)).isoformat()
        document["job"] |= {"job_id": f"past-{number}", "planned_at": planned_at}
        sources.append(ImportSource(str(number), site.pack(document)))
    import_results(sources=sources, machine="cpu-2c", track="local")


def results(count: int) -> None:
    """Ingest results, and print their size on disk; then some after two years of the same build."""
    from dashboard.models import Datum

    before = sizes()
    bodies = ingest_results("a result", count)
    after, data, jobs = sizes(), Datum.objects.count(), count + 1
    body_kb = sum(map(len, bodies)) / len(bodies) / 1000
    print(f"{data / jobs:.0f} data in a result, whose body has {body_kb:.1f} kB, compressed")
    print(f"datum {(after['datum'] - before['datum']) / data:.0f} bytes with its indexes")
    for table in ("result", "samples"):
        print(f"{table} {(after[table] - before[table]) / jobs / 1000:.2f} kB for each result")
    print(f"job {after['job'] / jobs / 1000:.2f} kB each")
    import_history(1000)
    ingest_results("a result, 1,000 before", count)


def heartbeats(count: int) -> None:
    """An idle worker's request, through all of Django."""
    from django.test import Client

    from dashboard.runs.services.fleet import renew_token
    from tests.builders import site

    token = renew_token(worker=site.worker("idle"))
    client = Client(headers={"Authorization": f"Bearer {token}", "host": "localhost"})

    def post(_: int) -> None:
        body = {"boot_id": site.BOOT}
        response = client.post("/api/v1/worker/alive", body, content_type="application/json")
        assert response.status_code == 200

    measure("a heartbeat", count, post)


def claims(count: int) -> None:
    """Claim jobs from a short and a long queue of two runs; each claim sends the next message."""
    from dashboard.models import Job, JobState
    from dashboard.runs.services.dispatch import dispatch
    from dashboard.runs.services.leases import claim
    from tests.builders import site

    def enqueue(length: int) -> None:
        for _ in range(2):
            first = site.run(site.MLP, purpose="scheduled").jobs.get()
            fields = ("run", "benchmark", "config", "spec", "planned_at")
            same = {field: getattr(first, field) for field in fields}
            Job.objects.bulk_create(Job(**same, turn=turn) for turn in range(1, length // 2))
        dispatch()

    def claim_next(_: int) -> None:
        job = Job.objects.only("pk").filter(state=JobState.QUEUED, dispatched_at__isnull=False)[0]
        claim(
            job_id=job.pk,
            attempt=1,
            worker=worker,
            boot_id=site.BOOT,
        )

    worker = site.worker("claiming")
    for length in (count + 10, LONG_QUEUE):
        enqueue(length)
        measure(f"a claim, {length:,} wait", count, claim_next)


def land_run(worker: Any) -> int:
    """Results of one run of every case; how many."""
    from dashboard.models import Job, JobState
    from dashboard.results.services.ingest import ingest
    from tests.builders import site

    names = [benchmark["name"] for benchmark in site.catalog()["benchmarks"]]
    configs = [config["name"] for config in site.catalog()["configs"]]
    run = site.run(*names, configs=configs, purpose="scheduled")
    run.jobs.update(state=JobState.QUEUED)
    for job in Job.objects.filter(run=run):
        claimed = site.claim(job, worker)
        ingest(job_id=job.pk, worker=worker, body=random_delivery(claimed))
    return run.jobs.count()


def judging(rounds: int) -> None:
    """What judging the data of a result costs: series one by one, and by the batch."""
    from dashboard.alerts.services.detection import detect, detect_due
    from dashboard.models import DetectorState
    from tests.builders import site

    def one_by_one() -> None:
        for series in DetectorState.objects.filter(due=True).values_list("pk", flat=True):
            detect(series_id=series)

    ways: dict[str, Callable[[], object]] = {"one by one": one_by_one, "by the batch": detect_due}
    worker = site.worker("judged")
    cpu_s = dict.fromkeys(ways, 0.0)
    judged = dict.fromkeys(ways, 0)
    for number in range(2 * rounds + 1):
        name = list(ways)[number % 2]
        count = land_run(worker)
        began = sum(processor_s())
        ways[name]()
        if number:  # the first one finds new series
            cpu_s[name] += sum(processor_s()) - began
            judged[name] += count
    costs = {name: 1000 * cpu_s[name] / judged[name] for name in ways}
    for name, cost_ms in costs.items():
        print(f"judging {name:14} {cost_ms:6.2f} ms CPU a result, here and in Postgres")
    ratio = costs["one by one"] / costs["by the batch"]
    print(f"by the batch, judging costs {ratio:.1f} times less")


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
    after = server.info("memory")["used_memory"]
    print(f"message {(after - before) / count:.0f} bytes in the broker")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    load = psutil.getloadavg()[0]
    logging.disable(logging.WARNING)
    print(f"{count} of each, {psutil.cpu_count()} cores, load {load:.1f}")
    with servers() as broker:
        results(count)
        heartbeats(count)
        claims(count)
        judging(rounds=max(2, count // 30))
        messages(broker, count)


if __name__ == "__main__":
    main()
