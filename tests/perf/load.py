"""The whole system under load: python tests/perf/load.py [--jobs N] [--rate R] [--readers N]

1. The system as `make up` starts it, in a folder of its own, with a generated history.
2. People, each of whom opens a page every PAUSE_S seconds: how long pages take while nothing else
   happens.
3. The same while a worker of this process claims N jobs, beats, and posts results of 40 metrics, R
   a second, over HTTP.
4. What each process of the system holds in memory after a fifth of the jobs and after all of them,
   and its CPU time.
"""

import argparse
import itertools
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
from tests.perf.capacity import METRICS_OF_A_RESULT, arm_samples

PAUSE_S = 5.0
LANES = 16  # workers that report at the same time
PAGES = ("/", "/benchmarks/", "/alerts/", "/runs/", "/fleet/", "/versions/")
MIB = 2**20
KINDS = {  # part of a command line -> what that process is
    "gunicorn": "web",
    "-Q dashboard": "dashboard worker",
    " beat ": "scheduler",
    "-m runner": "benchmark worker",
    "valkey": "broker",
    "postgres": "Postgres",
}


class Readers:
    """People who open pages until `stop`; `seconds` and `errors` since the last `begin`."""

    def __init__(self, url: str, count: int) -> None:
        self.seconds: list[float] = []
        self.errors: Counter[str] = Counter()
        self._url, self._over = url, threading.Event()
        for number in range(count):
            threading.Thread(target=self._read, args=(number,), daemon=True).start()

    def _read(self, number: int) -> None:
        chance = random.Random(number)
        self._over.wait(chance.uniform(0, PAUSE_S))
        # As browsers do it a connection that the server has just closed is not an error: take a new
        # one each time.
        with httpx.Client(
            base_url=self._url, timeout=60, headers={"Connection": "close"}
        ) as client:
            while not self._over.wait(chance.uniform(0.5, 1.5) * PAUSE_S):
                began = time.perf_counter()
                try:
                    status = str(client.get(chance.choice(PAGES)).status_code)
                except httpx.HTTPError as error:
                    status = type(error).__name__
                self.seconds.append(time.perf_counter() - began)
                if status != "200":
                    self.errors[status] += 1

    def begin(self) -> None:
        self.seconds, self.errors = [], Counter()

    def tell(self, when: str) -> float:
        """Print how long pages took, and return the 95th percentile in seconds; NaN where nobody
        read.
        """
        if len(self.seconds) < 2:
            return math.nan
        p95 = statistics.quantiles(self.seconds, n=20)[-1]
        median, errors = statistics.median(self.seconds), dict(self.errors) or "none"
        print(f"{when}: {len(self.seconds)} pages, errors {errors}")
        print(f"{when}: median {1000 * median:.0f} ms, p95 {1000 * p95:.0f} ms", flush=True)
        return p95

    def stop(self) -> None:
        self._over.set()


class Used(NamedTuple):
    """MiB of memory (resident, what is shared counted once), and CPU seconds so far with those of
    ended children.
    """

    memory_mib: float = 0.0
    cpu_s: float = 0.0


def processes(site: LocalSite) -> dict[str, Used]:
    """What each kind of process uses, those of one kind together."""
    found: dict[str, Used] = defaultdict(Used)
    for process in [psutil.Process(site.pid), *psutil.Process(site.pid).children(recursive=True)]:
        try:
            command, size = " ".join(process.cmdline()), process.memory_full_info().pss / MIB
            cpu_s = sum(process.cpu_times()[:4])
        except psutil.Error:
            continue
        kind = next((kind for part, kind in KINDS.items() if part in command), "supervisor")
        found[kind] = Used(found[kind].memory_mib + size, found[kind].cpu_s + cpu_s)
    found["this script"] = Used(psutil.Process().memory_full_info().pss / MIB, time.process_time())
    return dict(found)


def prepare() -> str:
    """A generated history, and the token of a worker that is this process."""
    from django.core.management import call_command

    from dashboard.models import Machine, Purpose, Run
    from dashboard.runs.services.fleet import add_worker
    from dashboard.runs.services.runs import cancel_run

    for run in Run.objects.filter(purpose=Purpose.MANUAL):
        cancel_run(run=run)  # the first run that `make up` triggers would measure beside the load
    call_command("generate_history", series=2000, points=60, verbosity=0)
    machine = Machine.objects.create(
        key="load", label="Load", device_kind="cpu", default_size="smoke"
    )
    return add_worker(name="load", machine=machine)[1]


def plan() -> list[Any]:
    """The jobs of one run of all smoke benchmarks under ten configs, as if their messages had
    come.
    """
    from dashboard.models import Benchmark, Config, Job, JobState, Track
    from dashboard.runs.services.runs import trigger_run

    track = Track.objects.select_related("build").get(key="local")
    assert track.build
    configs = list(Config.objects.filter(retired=False).values_list("name", flat=True))[:10]
    names = list(
        Benchmark.objects.filter(retired=False, size="smoke").values_list("name", flat=True)
    )
    run = trigger_run(
        build=track.build.label,
        machine="load",
        track="local",
        benchmarks=names,
        configs=configs,
        purpose="scheduled",
        label="load",
    )
    Job.objects.filter(run=run).update(state=JobState.QUEUED)
    return list(Job.objects.filter(run=run).select_related("benchmark", "config", "run"))


def measure(client: httpx.Client, job: Any) -> None:
    """One job of the worker that this process is: claim, heartbeat, result."""
    from dashboard.language.metrics import METRICS
    from tests.builders import site

    base = f"/api/v1/worker/jobs/{job.pk}"
    client.post(f"{base}/claim", json={"attempt": 1, "boot_id": site.BOOT}).raise_for_status()
    client.post(f"{base}/heartbeat", json={"attempt": 1, "phase": "sampling"}).raise_for_status()
    keys = [key for key in METRICS if key != "status"][:METRICS_OF_A_RESULT]
    values = {key: random.gauss(2.0, 0.02) for key in keys}
    samples = {arm: arm_samples() for arm in ("eager", "compiled")}
    body = site.delivery(job, site.result(job, values, samples=samples))
    client.post(
        f"{base}/result", content=body, headers={"Content-Encoding": "gzip"}
    ).raise_for_status()


def drive(site: LocalSite, token: str, jobs: int, rate: float) -> None:
    """Measure so many jobs, `rate` a second where the system can, and print memory after a fifth
    and after all.

    LANES at once, as a fleet does: over one connection the answer's time would be the limit.
    """
    from tests.builders import site as builder

    waiting = itertools.chain.from_iterable(plan() for _ in itertools.count())
    began, before, early = time.perf_counter(), processes(site), {}
    with httpx.Client(
        base_url=site.url, headers={"Authorization": f"Bearer {token}"}, timeout=60
    ) as client:
        hello = {
            "boot_id": builder.BOOT,
            "device": "cpu",
            "catalog": {"benchmarks": [], "configs": []},
        }
        client.post("/api/v1/worker/hello", json=hello).raise_for_status()
        with ThreadPoolExecutor(LANES) as lanes:
            done: deque[Future[None]] = deque()
            for number, job in enumerate(itertools.islice(waiting, jobs), 1):
                done.append(lanes.submit(measure, client, job))
                time.sleep(max(0.0, number / rate - (time.perf_counter() - began)))
                if len(done) > LANES:
                    done.popleft().result()
                if number == jobs // 5:
                    early = processes(site)
        for last in done:
            last.result()
    seconds = time.perf_counter() - began
    print(f"{jobs} results in {seconds:.0f} s: {jobs / seconds:.1f} a second, asked for {rate:.0f}")
    for kind, used in sorted(processes(site).items()):
        first, cpu_s = (
            early.get(kind, Used()).memory_mib,
            used.cpu_s - before.get(kind, Used()).cpu_s,
        )
        sizes = f"{first:5.0f} MiB after {jobs // 5} jobs, {used.memory_mib:5.0f} MiB after {jobs}"
        print(
            f"{kind:18} {sizes}; {cpu_s / seconds:.2f} cores, {1000 * cpu_s / jobs:.0f} ms a result"
        )


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
        print(f"{psutil.cpu_count()} cores, load {psutil.getloadavg()[0]:.1f}", flush=True)
        readers = Readers(site.url, options.readers)
        time.sleep(10)
        readers.begin()
        time.sleep(30)
        idle = readers.tell("idle")
        readers.begin()
        drive(site, token, options.jobs, options.rate)
        print(f"p95 under load: {readers.tell('under load') / idle:.1f} times the idle one")
        readers.stop()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
