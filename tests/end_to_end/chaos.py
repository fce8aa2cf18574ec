"""Chaos: kill -9 at random in the middle of a run, then count what was lost and what was doubled
(`make chaos`).

1. The system as `make up` starts it, in a folder of its own, with a mail server and a webhook
   receiver of this process. Only the suite is another: its jobs take a fraction of a second
   (tests/builders/chaos_suite.py).
2. Three rounds of what will change, on the plain build; then a run of 200 jobs on a variant that
   fails one model.
3. Kills, spread at random over the run: worker, job process, suite, dashboard worker, scheduler,
   web server, Postgres and broker, each once before any comes again.
4. Nobody helps. When every job has ended, every alert was measured again and every message was
   delivered, the count follows: each job has exactly one result or one named failure, no datum,
   alert or message exists twice.

It takes five minutes on two quiet cores. The same --seed kills the same in the same order.
"""

import argparse
import os
import random
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from tests.builders import chaos_suite
from tests.builders.local_site import LocalSite, local_site
from tests.builders.receivers import mailbox, receiver
from tests.end_to_end.drill import connect

VICTIMS = {  # name -> what its command line holds
    "web server": "gunicorn",
    "dashboard worker": "-Q dashboard",
    "scheduler": " beat ",
    "benchmark worker": "-m runner",
    "job process": "-m runner",  # forked by the one before
    "suite": "chaos_suite.py",
    "Postgres": "postgres -D",
    "broker": "valkey-server",
}
FIND_S = 60.0


def main() -> int:
    options = parse_arguments()
    folder = Path(tempfile.mkdtemp(prefix="compilewatch-chaos-"))
    folder.chmod(0o755)  # under root, Postgres runs as another account, which has to get in
    seed = random.randrange(10**6) if options.seed is None else options.seed
    print(f"seed {seed}, data in {folder}", flush=True)
    with (
        mailbox() as mails,
        receiver() as hooks,
        local_site(folder, **environment(folder)) as site,
    ):
        connect(folder)
        from tests.end_to_end.chaos_site import ChaosSite

        chaos_site = ChaosSite(mails.url, hooks.url)
        chaos_site.measure_before()
        run = chaos_site.trigger(options.jobs)
        for victim, jobs in schedule_kills(random.Random(seed), options.kills, options.jobs):
            ended = chaos_site.wait_for_jobs(run, jobs)
            pid = kill(site, victim)
            print(f"  {ended:4} jobs have ended: kill -9 of {victim} ({pid})", flush=True)
        chaos_site.wait_until_settled()
        return chaos_site.count(run, read_ledger(folder), mails, hooks)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=200, help="at most 200")
    parser.add_argument("--seed", type=int, help="of an earlier run, to kill the same again")
    return parser.parse_args()


def environment(folder: Path) -> dict[str, str]:
    """Settings of the system: quick leases, and an interpreter with the chaos suite.

    The interpreter is the real one, except that it runs jobs with the chaos suite.
    """
    interpreter = folder / "python"
    run_job = f'{sys.executable} -S {chaos_suite.__file__} {folder / "ledger"} "$@"'
    interpreter.write_text(
        "#!/bin/sh\n"
        f'if [ "$3" = run ]; then shift 2; exec {run_job}; fi\n'
        f'exec {sys.executable} "$@"\n'
    )
    interpreter.chmod(stat.S_IRWXU)
    return {
        "SUITE_PYTHON": str(interpreter),
        "ALLOW_PRIVATE_WEBHOOKS": "true",
        "WORKER_DEVICE": "cpu",
        "HEARTBEAT_S": "1",
        "LEASE_S": "8",
    }


def schedule_kills(
    chance: random.Random,
    kills: int,
    jobs: int,
) -> Iterator[tuple[str, int]]:
    """(victim, after how many ended jobs of the run), every victim once before any comes again."""
    victims: list[str] = []
    while len(victims) < kills:
        victims += chance.sample(list(VICTIMS), len(VICTIMS))
    job_counts = sorted(chance.sample(range(1, jobs * 9 // 10), kills))
    yield from zip(victims, job_counts, strict=False)


def kill(site: LocalSite, victim: str) -> int:
    """kill -9 of a process of the system, once there is one; its pid."""
    deadline = time.monotonic() + FIND_S
    while time.monotonic() < deadline:
        for process in psutil.Process(site.pid).children(recursive=True):
            try:
                if is_victim(process, victim):
                    process.kill()
                    return process.pid
            except psutil.Error:
                continue
        time.sleep(0.02)
    processes = describe_processes(site)
    raise AssertionError(f"no {victim} ran within {FIND_S:.0f} s; processes: {processes}")


def is_victim(process: psutil.Process, victim: str) -> bool:
    """Whether it is the first process of its kind; of a job process, the one below."""
    pattern = VICTIMS[victim]
    if pattern not in " ".join(process.cmdline()) or process.status() == psutil.STATUS_ZOMBIE:
        return False
    parent = process.parent()
    is_child = parent is not None and pattern in " ".join(parent.cmdline())
    return is_child == (victim == "job process")


def describe_processes(site: LocalSite) -> str:
    children = psutil.Process(site.pid).children(recursive=True)
    return "; ".join(" ".join(child.cmdline()[:6]) for child in children)


def read_ledger(folder: Path) -> list[str]:
    """Every attempt that the suite has measured, as "job attempt"."""
    return (folder / "ledger").read_text().splitlines()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
