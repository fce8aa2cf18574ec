"""The drill: real changes are made to a real system, and what it finds is compared with what was
done (`make drill`).

1. The system as `make up` starts it, in a folder of its own, with a mail server and a webhook
   receiver of this process.
2. A track is measured again and again: small cases in eager and compiled, and the machine's canary.
3. Each injection is made for real: a variant of the build, or other processes that burn the cores.
   What it touches is measured until the change has an alert, measured again by the system itself,
   and then set back until it recovers.
4. A control period of the same length, with nothing done.
5. What was injected, what was found, after how many points, with what cause, and what arrived
   where. The exit code is 1 where something came otherwise than it should.

It takes more than an hour on two quiet cores; `--only NAME` runs parts of it, and `--keep FOLDER`
goes on where an earlier drill of that folder stopped. Steps are far shorter than the scheduler's
turns, so it can be run next to other load; what is slower for minutes because of that load is found
as well: as what it is, the machine.
"""

import argparse
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.builders.local_site import OURS, local_site
from tests.builders.receivers import Mailbox, Receiver, mailbox, receiver
from tests.end_to_end.drill_injections import INJECTIONS, OWN_MODEL, Injection

BURN = "while True: pass"


def main() -> int:
    options = arguments()
    folder = Path(options.keep or tempfile.mkdtemp(prefix="compilewatch-drill-"))
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)  # under root, Postgres runs as another account, which has to get in
    with (
        mailbox() as mails,
        receiver() as hooks,
        local_site(folder, ALLOW_PRIVATE_WEBHOOKS="true", WORKER_MODELS=str(OWN_MODEL)) as site,
    ):
        print(f"{site.url}  data in {folder}", flush=True)
        connect(folder)
        wrong = drill(options, mails, hooks)
    if wrong:
        print(f"{len(wrong)} came otherwise: {'; '.join(wrong)}", flush=True)
        return 1
    print("All of it came as it should.", flush=True)
    return 0


def arguments() -> argparse.Namespace:
    names = [injection.name for injection in INJECTIONS]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", action="append", choices=[*names, "control"], help="a part; may be given again"
    )
    parser.add_argument(
        "--rounds",
        type=int,
        help="measured before anything is injected; unless given, what each needs",
    )
    parser.add_argument(
        "--control",
        type=int,
        help="rounds of the control period; unless given, as many as were needed",
    )
    parser.add_argument("--keep", help="a folder to keep the data in, and to go on in")
    return parser.parse_args()


def connect(folder: Path) -> None:
    """Let this process use the database and the broker of the running system, and of no other."""
    for name in OURS:
        os.environ.pop(name, None)
    os.environ["VAR_DIR"] = str(folder)
    os.environ["DJANGO_SETTINGS_MODULE"] = "dashboard.settings"
    import django

    django.setup()
    logging.getLogger("mail.log").setLevel(logging.WARNING)  # the mail server's own chatter


def drill(options: argparse.Namespace, mails: Mailbox, hooks: Receiver) -> list[str]:
    """Run the chosen parts, print what came of each; the names of those that came otherwise."""
    from tests.end_to_end.drill_site import DrillSite

    chosen = [part for part in INJECTIONS if not options.only or part.name in options.only]
    site = DrillSite()
    site.notify(mails.url, hooks.url)
    learn(site, chosen or INJECTIONS, options.rounds)
    print(
        f"{'injected':52} {'found':44} {'points':>6} {'cause':9} {'state':14} mails hooks",
        flush=True,
    )
    before = site.rounds
    wrong = [part.name for part in chosen if not report(site, part, mails, hooks)]
    if options.only and "control" not in options.only:
        return wrong

    rounds = max(site.rounds - before, 20) if options.control is None else options.control
    false = site.control(chosen or INJECTIONS, rounds)
    titles = "; ".join(false) or "none"
    print(f"control: {rounds} rounds without a change, {len(false)} alerts: {titles}", flush=True)
    return [*wrong, "control"] if false else wrong


def learn(site: Any, chosen: Sequence[Injection], rounds: int | None) -> None:
    """Measure the plain build; what needs few points only in the last rounds."""
    if rounds is None:
        rounds = max(injection.history for injection in chosen)
    while site.rounds < rounds:
        site.measure(site.base, chosen, left=rounds - site.rounds)


def report(site: Any, injection: Injection, mails: Mailbox, hooks: Receiver) -> bool:
    """Inject one change, wait for what is found, take it back, and print both.

    True where all came as it should, with one mail and one webhook call each time.
    """
    mails_before, hooks_before = len(mails.mails), len(hooks.requests)
    with burning(injection.burn):
        finding = site.inject(injection)
    mails_found, hooks_found = len(mails.mails), len(hooks.requests)
    new_mails, new_hooks = mails_found - mails_before, hooks_found - hooks_before
    right = injection.is_what(finding) and new_mails == new_hooks == 1
    remark = "" if right else f"  (expected {expected(injection)}, one message each)"
    print(
        f"{injection.what[:52]:52} {finding.metric[:44]:44} {finding.points:>6} "
        f"{finding.cause:9} {finding.state:14} "
        f"{new_mails:5} {new_hooks:5}{remark}  {finding.title}",
        flush=True,
    )
    for other in finding.others:
        print(f"{'':52} besides: {other}", flush=True)

    back = site.set_back(injection, finding)
    new_mails, new_hooks = len(mails.mails) - mails_found, len(hooks.requests) - hooks_found
    print(f"{'':52} afterwards: {back:86} {new_mails:5} {new_hooks:5}", flush=True)
    return right and back.startswith("recovered") and new_mails == new_hooks == 1


def expected(injection: Injection) -> str:
    words = f"{injection.cause}, confirmed"
    if injection.percent is not None:
        words += f", {injection.metrics[0]} {injection.percent:+g}%"
    if injection.silent:
        words += f", nothing in {', '.join(injection.silent)}"
    return words


@contextmanager
def burning(count: int) -> Iterator[None]:
    """Processes that burn a core each, ended with the block.

    Each has a session of its own, as other programs have: Linux shares the cores between sessions,
    and together in one they take hardly anything from a job.
    """
    command = [sys.executable, "-c", BURN]
    processes = [subprocess.Popen(command, start_new_session=True) for _ in range(count)]
    try:
        time.sleep(0.1)
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
