"""The whole system under load: python tests/perf/load.py [--jobs N] [--rate R] [--readers N]

1. The system as `make up` starts it, in a folder of its own, with a generated history.
2. A worker of this process claims N jobs, sends heartbeats and posts results of 40 metrics, R a
   second, over HTTP, while nobody reads.
3. Readers, each of whom opens a page every PAUSE_S seconds: how long pages take while nothing else
   happens.
4. Both at once: results a second next to those without readers, and leases that were lost.
5. Of 2. and 4. the memory of each process of the system after a fifth of the jobs and after all of
   them, and its CPU time.
"""

import argparse
import logging
import math
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict, deque
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))

import httpx
import psutil

from tests.builders.local_site import LocalSite, local_site
from tests.end_to_end.drill import connect
from tests.perf.capacity import random_delivery

PAUSE_S = 5.0
THREADS = 16  # workers that report at the same time
PAGES = ("/", "/benchmarks/", "/alerts/", "/runs/", "/fleet/", "/versions/")
MIB = 2**20
KINDS = {  # part of a command line -> the kind of the process
    "gunicorn": "web",
    "--queues dashboard": "dashboard worker",
    " beat ": "scheduler",
    "-m runner": "benchmark worker",
    "valkey": "broker",
    "postgres": "Postgres",
}


class Readers:
    """Visitors who open pages until `stop`; `seconds` and `errors` since the last `begin`."""

    def __init__(self, url: str, count: int) -> None:
        self.seconds: list[float] = []
        self.errors: Counter[str] = Counter()
        self._url, self._stopped = url, threading.Event()
        for number in range(count):
            threading.Thread(target=self._read, args=(number,), daemon=True).start()

    def _read(self, number: int) -> None:
        rng = random.Random(number)
        self._stopped.wait(rng.uniform(0, PAUSE_S))
        # A new connection each time: for browsers, too, one that the server has just closed is not
        # an error.
        headers = {"Connection": "close"}
        with httpx.Client(
            base_url=self._url,
            timeout=60,
            headers=headers,
        ) as client:
            while not self._stopped.wait(rng.uniform(0.5, 1.5) * PAUSE_S):
                began = time.perf_counter()
                try:
                    status = str(client.get(rng.choice(PAGES)).status_code)
                except httpx.HTTPError as error:
                    status = type(error).__name__
                self.seconds.append(time.perf_counter() - began)
                if status != "200":
                    self.errors[status] += 1

    def begin(self) -> None:
        self.seconds, self.errors = [], Counter()

    def report(self, when: str) -> float:
        """Print how long pages took; the 95th percentile in seconds, NaN without a page."""
        if len(self.seconds) < 2:
            return math.nan
        median, p95 = statistics.median(self.seconds), statistics.quantiles(self.seconds, n=20)[-1]
        errors = dict(self.errors) or "none"
        print(f"{when}: {len(self.seconds)} pages, errors {errors}")
        print(f"{when}: median {1000 * median:.0f} ms, p95 {1000 * p95:.0f} ms", flush=True)
        return p95

    def stop(self) -> None:
        self._stopped.set()


class Usage(NamedTuple):
    """What processes use.

    memory_mib: resident, with shared memory counted once (PSS)
    cpu_s: so far, with that of ended children
    """

    memory_mib: float = 0.0
    cpu_s: float = 0.0


def usage_by_kind(site: LocalSite) -> dict[str, Usage]:
    """What each kind of process uses, those of one kind together."""
    usage: dict[str, Usage] = defaultdict(Usage)
    supervisor = psutil.Process(site.pid)
    for process in [supervisor, *supervisor.children(recursive=True)]:
        try:
            command, memory = " ".join(process.cmdline()), process.memory_full_info().pss / MIB
            cpu_s = sum(process.cpu_times()[:4])
        except psutil.Error:
            continue
        kind = next((kind for part, kind in KINDS.items() if part in command), "supervisor")
        usage[kind] = Usage(usage[kind].memory_mib + memory, usage[kind].cpu_s + cpu_s)
    own_memory = psutil.Process().memory_full_info().pss / MIB
    usage["this script"] = Usage(own_memory, time.process_time())
    return dict(usage)


def prepare() -> str:
    """A generated history, and the token of a worker that is this process."""
    from dashboard.models import Machine, Purpose, Run
    from dashboard.runs.services.fleet import add_worker
    from dashboard.runs.services.runs import cancel_run
    from tests.builders.pages import history

    for run in Run.objects.filter(purpose=Purpose.MANUAL):
        cancel_run(run=run)  # `make up` triggers a run, which would measure during the load
    history(series=2000, points=60)
    machine = Machine.objects.create(
        key="load", label="Load", device_kind="cpu", default_size="smoke"
    )
    return add_worker(name="load", machine=machine)[1]


def plan() -> list[Any]:
    """Queued jobs of one run of all smoke benchmarks under ten configs."""
    from dashboard.models import Benchmark, Config, Job, JobState, Track
    from dashboard.runs.services.runs import trigger_run

    track = Track.objects.select_related("build").get(key="local")
    assert track.build
    configs = Config.objects.filter(retired=False).values_list("name", flat=True)[:10]
    benchmarks = Benchmark.objects.filter(retired=False, size="smoke")
    run = trigger_run(
        build=track.build.label,
        machine="load",
        track="local",
        benchmarks=list(benchmarks.values_list("name", flat=True)),
        configs=list(configs),
        purpose="scheduled",
        label="load",
    )
    Job.objects.filter(run=run).update(state=JobState.QUEUED)
    return list(Job.objects.filter(run=run).select_related("benchmark", "config", "run"))


def measure(client: httpx.Client, job: Any) -> None:
    """One job of the worker that this process is: claim, heartbeat, result."""
    from tests.builders import site

    base = f"/api/v1/worker/jobs/{job.pk}"
    client.post(f"{base}/claim", json={"attempt": 1, "boot_id": site.BOOT}).raise_for_status()
    client.post(f"{base}/heartbeat", json={"attempt": 1, "phase": "sampling"}).raise_for_status()
    result = client.post(
        f"{base}/result", content=random_delivery(job), headers={"Content-Encoding": "gzip"}
    )
    result.raise_for_status()


def drive(site: LocalSite, token: str, count: int, rate: float) -> float:
    """Measure `count` jobs, `rate` a second where the system can, and print what that took.

    The results a second, planning apart. THREADS at once, as a fleet does: over one connection the
    response time would be the limit.
    """
    jobs: list[Any] = []
    while len(jobs) < count:
        jobs += plan()
    print(f"{len(jobs)} jobs wait", flush=True)
    headers = {"Authorization": f"Bearer {token}"}
    began, before, early = time.perf_counter(), usage_by_kind(site), {}
    pending: deque[Future[None]] = deque()
    with (
        httpx.Client(base_url=site.url, headers=headers, timeout=60) as client,
        ThreadPoolExecutor(THREADS) as threads,
    ):
        hello(client)
        for number, job in enumerate(jobs[:count], 1):
            pending.append(threads.submit(measure, client, job))
            time.sleep(max(0.0, number / rate - (time.perf_counter() - began)))
            if len(pending) > THREADS:
                pending.popleft().result()
            if number == count // 5:
                early = usage_by_kind(site)
        for job_done in pending:
            job_done.result()
    seconds = time.perf_counter() - began
    print(f"{count} results in {seconds:.0f} s: {count / seconds:.1f} a second, of {rate:.0f}")
    for kind, usage in sorted(usage_by_kind(site).items()):
        early_mib = early.get(kind, Usage()).memory_mib
        cpu_s = usage.cpu_s - before.get(kind, Usage()).cpu_s
        print(
            f"{kind:18} {early_mib:5.0f} MiB after {count // 5} jobs, {usage.memory_mib:5.0f} MiB "
            f"after {count}; {cpu_s / seconds:.2f} cores, {1000 * cpu_s / count:.0f} ms a result"
        )
    return count / seconds


def seconds_of_additions() -> float:
    """How fast the host is now: what others do on it changes that by half within an hour."""
    began, total = time.process_time(), 0
    for number in range(10_000_000):
        total += number
    return time.process_time() - began


def leases_lost() -> int:
    """Jobs whose lease ended before their result came."""
    from dashboard.models import Job, JobState

    jobs = Job.objects.filter(run__machine__key="load")
    return jobs.filter(attempt__gt=1).count() + jobs.filter(state=JobState.LOST).count()


def hello(client: httpx.Client) -> None:
    from tests.builders import site

    body = {
        "boot_id": site.BOOT,
        "device": "cpu",
        "catalog": {"benchmarks": [], "configs": []},
    }
    client.post("/api/v1/worker/hello", json=body).raise_for_status()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=50.0)
    parser.add_argument("--readers", type=int, default=50)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="compilewatch-load-"))
    folder.chmod(0o755)  # under root, Postgres runs as another account, which has to get in
    with local_site(folder, WORKER_DEVICE="cpu") as site:
        connect(folder)
        logging.disable(logging.WARNING)
        token = prepare()
        print(
            f"{psutil.cpu_count()} cores, load {psutil.getloadavg()[0]:.1f}; ten million additions "
            f"in Python take {seconds_of_additions():.2f} s of CPU",
            flush=True,
        )
        without_readers = drive(site, token, options.jobs, options.rate)
        readers = Readers(site.url, options.readers)
        time.sleep(10)
        readers.begin()
        time.sleep(30)
        idle = readers.report("idle")
        readers.begin()
        with_readers = drive(site, token, options.jobs, options.rate)
        print(f"p95 under load: {readers.report('under load') / idle:.1f} times the idle one")
        readers.stop()
        print(
            f"results a second: {without_readers:.1f} without readers, {with_readers:.1f} with "
            f"{options.readers}; leases lost: {leases_lost()}"
        )


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
