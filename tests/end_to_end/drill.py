"""The drill: real changes are made to a real system, and what it finds is compared with what was done (`make drill`).

1. The system as `make up` starts it, in a folder of its own, with a mail server and a webhook receiver of this process.
2. A track is measured again and again: small benchmarks in eager and compiled, and the machine's canary.
3. Each injection is made for real: a variant of the build, or another process that burns the cores. The track is
   measured until the change is told, measured again by the system itself, and then set back until it recovers.
4. A control period of the same length, with nothing done.
5. What was injected, what was found, after how many points, with what cause, and what arrived where.

It takes half an hour on two quiet cores; `--only NAME` runs parts of it, and `--keep FOLDER` goes on where an earlier
drill of that folder stopped. Beside other load the noise of wall-clock is found, too: as what it is, the machine.
"""

import argparse
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.builders.local_site import local_site
from tests.builders.receivers import Mailbox, Receiver, mailbox, receiver

MLP = "mlp_wide.smoke.inference.float32.static.b64"
SOFTMAX = "softmax.smoke.inference.float32.static.b256"
CNN = "tiny_cnn.smoke.inference.float32.static.b32"
CANARY = "ceilings.smoke.inference.float32.static.b512"
BURN = "while True: pass"


@dataclass(frozen=True)
class Injection:
    """One real change. inductor, env: what the variant sets; burn: processes that burn a core each. cause: whose fault.

    metrics, benchmark: where it shows. witnesses: what is measured beside it, "eager" and "canary". rounds: measured at
    most before it counts as missed.
    """

    name: str
    what: str
    cause: str
    metrics: tuple[str, ...]
    benchmark: str = MLP
    witnesses: tuple[str, ...] = ()
    inductor: dict[str, Any] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    burn: int = 0
    rounds: int = 8


INJECTIONS = (
    Injection(
        "compiled", "Inductor may not vectorize", "compiler", ("latency_ms",), benchmark=SOFTMAX,
        inductor={"cpp.simdlen": 1},
    ),
    Injection(
        "eager", "the matrix library may not use what this CPU can do", "eager", ("latency_ms",),
        witnesses=("eager",), env={"MKL_CBWR": "COMPATIBLE"},
    ),
    Injection(
        "memory", "Inductor keeps folded copies of the weights", "compiler", ("peak_memory_gb",),
        inductor={"freezing": True},
    ),
    Injection(
        "numerics", "Inductor computes relu wrongly", "compiler", ("passed", "drift"), benchmark=CNN,
        witnesses=("eager",),
        inductor={"cpp.inject_relu_bug_TESTING_ONLY": "accuracy"},
    ),
    Injection(
        "machine", "other processes burn every core", "machine", ("latency_ms",), witnesses=("eager", "canary"),
        burn=2 * (os.cpu_count() or 1),
    ),
)  # fmt: skip


def main() -> None:
    options = arguments()
    folder = Path(options.keep or tempfile.mkdtemp(prefix="compilewatch-drill-"))
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)  # under root, Postgres runs as another account, which has to get in
    with mailbox() as mails, receiver() as hooks, local_site(folder, ALLOW_PRIVATE_WEBHOOKS="true") as site:
        print(f"{site.url}  data in {folder}", flush=True)
        connect(folder)
        drill(options, mails, hooks)


def arguments() -> argparse.Namespace:
    known = [one.name for one in INJECTIONS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=[*known, "control"], help="a part; may be given again")
    parser.add_argument("--rounds", type=int, default=26, help="measured before anything is injected")
    parser.add_argument(
        "--control", type=int, default=0, help="rounds of the control period; 0: as many as were needed"
    )
    parser.add_argument(
        "--no-starts", action="store_true", help="no cold starts: faster, and no generated code to compare"
    )
    parser.add_argument("--keep", help="a folder to keep the data in, and to go on in")
    return parser.parse_args()


def connect(folder: Path) -> None:
    """Let this process use the database and the broker of the running system."""
    os.environ["VAR_DIR"] = str(folder)
    os.environ["DJANGO_SETTINGS_MODULE"] = "dashboard.settings"
    import django

    django.setup()
    logging.getLogger("mail.log").setLevel(logging.WARNING)  # the mail server's own chatter


def drill(options: argparse.Namespace, mails: Mailbox, hooks: Receiver) -> None:
    """Run the parts that were asked for, and print what came of each."""
    from tests.end_to_end.drill_site import DrillSite

    chosen = [one for one in INJECTIONS if not options.only or one.name in options.only]
    benchmarks = sorted({one.benchmark for one in chosen}) or [MLP]
    witnesses = {witness for one in chosen for witness in one.witnesses}
    site = DrillSite(
        benchmarks,
        configs=["eager", "inductor"] if "eager" in witnesses else ["inductor"],
        canary=CANARY if "canary" in witnesses else "",
        starts=[] if options.no_starts else ["cold"],
    )
    site.tell(mails.url, hooks.url)
    site.measure_until(options.rounds)
    print(f"{'injected':58} {'found':34} {'points':>6} {'cause':9} {'state':14} mails hooks", flush=True)
    before = site.rounds
    for injection in chosen:
        report(site, injection, mails, hooks)
    if not options.only or "control" in options.only:
        rounds = options.control or max(site.rounds - before, options.rounds)
        false = site.control(rounds)
        told = "; ".join(false) or "none"
        print(f"control: {rounds} rounds without a change, {len(false)} alerts: {told}", flush=True)


def report(site: Any, injection: Injection, mails: Mailbox, hooks: Receiver) -> None:
    """Inject one change, wait for what is found, take it back, and print a line."""
    told = len(mails.mails), len(hooks.requests)
    with burning(injection.burn):
        found = site.inject(injection)
    arrived = len(mails.mails) - told[0], len(hooks.requests) - told[1]
    right = "" if found.cause == injection.cause else f"  (expected {injection.cause})"
    print(
        f"{injection.what[:58]:58} {found.metric[:34]:34} {found.points:>6} {found.cause:9} {found.state:14} "
        f"{arrived[0]:5} {arrived[1]:5}{right}  {found.title}",
        flush=True,
    )
    print(f"{'':58} afterwards: {site.set_back(found)}", flush=True)


@contextmanager
def burning(count: int) -> Iterator[None]:
    """Processes that burn a core each, ended with the block."""
    processes = [subprocess.Popen([sys.executable, "-c", BURN]) for _ in range(count)]
    try:
        time.sleep(0.1)
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
