"""Chaos: faults at random in the middle of runs, then count what was lost, doubled or left behind
(`make chaos`).

1. The system as `make up` starts it, in a folder of its own, with a mail server and a webhook
   receiver of this process. Only the suite is another: its jobs take a fraction of a second
   (tests/builders/chaos_suite.py).
2. Three rounds of what will change, on the plain build; then rounds of so many jobs on a variant
   that fails one model.
3. Faults, spread at random over each round, every one once before any comes again
   (tests/end_to_end/chaos_faults.py): kill -9 of worker, job process, suite, dashboard worker,
   scheduler, web server, Postgres and broker; SIGSTOP for longer than a lease of web server, either
   worker and broker; kill -9 of the supervisor, which is started again; no space on the worker's
   disk, where a file system may be mounted. In the last round the broker stops answering for
   minutes.
4. Nobody helps. When every job has ended, every alert was measured again and every message was
   delivered, the count follows: each job has exactly one result or one named failure, no datum,
   alert or message exists twice, and no process outlived its supervisor.

The same --seed strikes the same in the same order. All is on this machine, and ends by itself, or
with SIGTERM or Ctrl-C.
"""

import argparse
import os
import random
import signal
import stat
import sys
import tempfile
import time
from math import inf
from pathlib import Path
from typing import Any

from tests.builders import chaos_suite
from tests.builders.local_site import LocalSite, local_site
from tests.builders.receivers import mailbox, receiver
from tests.end_to_end.chaos_faults import Faults, freeze, small_disk
from tests.end_to_end.drill import connect


def main() -> int:
    options = parse_arguments()
    # What ends this script ends what it has started, as the end of its blocks does
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    folder = Path(tempfile.mkdtemp(prefix="compilewatch-chaos-"))
    folder.chmod(0o755)  # under root, Postgres runs as another account, which has to get in
    seed = random.randrange(10**6) if options.seed is None else options.seed
    print(f"seed {seed}, data in {folder}", flush=True)
    with (
        small_disk(folder / "worker") as disk,
        mailbox() as mails,
        receiver() as hooks,
        local_site(folder, migrated=False, **environment(folder)) as site,
    ):
        connect(folder)
        from tests.end_to_end.chaos_site import ChaosSite

        chaos_site = ChaosSite(site, mails.url, hooks.url)
        chaos_site.measure_before()
        faults, chance = Faults(site, disk), random.Random(seed)
        runs = []
        latest = time.monotonic() + 60 * options.minutes
        for number in range(1, options.rounds + 1):
            run = chaos_site.trigger(options.jobs)
            runs.append(run)
            print(f"round {number}: run {run.pk} of {options.jobs} jobs", flush=True)
            for fault, jobs in faults.schedule(chance, options.faults, options.jobs):
                ended = chaos_site.wait_for_jobs(run, jobs)
                print(f"  {ended:4} jobs have ended: {faults.strike(fault)}", flush=True)
            if number == options.rounds or time.monotonic() > latest:
                keep_broker_away(chaos_site, site, options)
                break
        chaos_site.wait_until_settled()
        return chaos_site.count(runs, read_ledger(folder), mails, hooks, faults.orphans)


def keep_broker_away(chaos_site: Any, site: LocalSite, options: argparse.Namespace) -> None:
    """While a further run waits: it neither answers nor refuses for so many minutes."""
    if options.away_minutes:
        chaos_site.trigger(options.jobs)
        print(f"  {freeze(site, 'broker', 60 * options.away_minutes)}", flush=True)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=1, help="runs; 10 in the long form")
    parser.add_argument("--jobs", type=int, default=200, help="of each run, at most 200")
    parser.add_argument("--faults", type=int, default=14, help="in each round")
    parser.add_argument(
        "--minutes", type=float, default=inf, help="after which no further round begins"
    )
    parser.add_argument(
        "--away-minutes", type=float, default=5.0, help="without the broker; 0: no such fault"
    )
    parser.add_argument("--seed", type=int, help="of an earlier run, to strike the same again")
    parser.add_argument(
        "--quick",
        action="store_const",
        const={"rounds": 2, "jobs": 40, "faults": 7, "away_minutes": 1.0},
        help="2 rounds of 40 jobs and 7 faults, the broker away for a minute",
    )
    options = parser.parse_args()
    vars(options).update(options.quick or {})
    return options


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
        "WORKER_FREE_GB": "0.004",  # its disk has 16 MiB
        "HEARTBEAT_S": "1",
        "LEASE_S": "8",
    }


def read_ledger(folder: Path) -> list[str]:
    """Every attempt that the suite has measured, as "job attempt"."""
    return (folder / "ledger").read_text().splitlines()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
