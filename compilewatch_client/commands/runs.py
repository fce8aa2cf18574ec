"""`run` and `watch`. Exit code 0: every job passed; 1: some did not."""

from argparse import ArgumentParser, Namespace

from compilewatch_client import screen
from compilewatch_client.client import Client
from compilewatch_client.commands.asking import client, declare_selection, declare_site, selected
from compilewatch_client.documents import Run
from dashboard.language.wording import plural

OK, NOT_PASSED = 0, 1


def declare_run(parser: ArgumentParser) -> None:
    parser.add_argument(
        "build", help="a torch build, as 2.13.0+cpu; a version is enough where one build has it"
    )
    parser.add_argument("--machine", default="", help="key of a machine (the only one)")
    parser.add_argument("--track", default="local", help="key of a track (local)")
    declare_selection(parser, "family", "benchmark", "config")
    parser.add_argument("--label", default="", help="shown with the run")
    parser.add_argument(
        "--dry-run", action="store_true", help="print what would be measured, and measure nothing"
    )
    parser.add_argument("--no-watch", action="store_true", help="do not wait for its end")
    declare_site(parser)


def run(options: Namespace) -> int:
    what = selected(options, {"families": "family", "benchmarks": "benchmark", "configs": "config"})
    what |= {"machine": options.machine, "track": options.track, "label": options.label}
    with client(options) as site:
        if options.dry_run:
            return _plan(site, options, what)
        made = site.trigger(options.build, **what)
        if not options.no_watch:
            screen.err().print(made["url"])
            return _followed(site, made["id"], options)
        screen.as_json(made) if options.json else screen.say(
            f"run {made['id']}: {plural(made['jobs']['total'], 'job')}"
        )
        return OK


def _plan(site: Client, options: Namespace, what: dict[str, str]) -> int:
    plan = site.plan(options.build, **what)
    if options.json:
        screen.as_json(plan)
    else:
        screen.table(("Benchmark", "Config"), plan["cases"])
        screen.say(f"{plural(len(plan['cases']), 'job')} on {plan['machine']}, {plan['build']}")
    return OK


def declare_watch(parser: ArgumentParser) -> None:
    parser.add_argument("run", type=int, help="number of the run")
    declare_site(parser)


def watch(options: Namespace) -> int:
    with client(options) as site:
        return _followed(site, options.run, options)


def _followed(site: Client, number: int, options: Namespace) -> int:
    ended = screen.follow(lambda: site.run(number))
    if options.json:
        screen.as_json(ended)
    else:
        _tell(site, ended)
    return OK if ended["jobs"]["passed"] == ended["jobs"]["total"] else NOT_PASSED


def _tell(site: Client, ended: Run) -> None:
    jobs = ended["jobs"]
    counts = ", ".join(
        f"{jobs[state]} {state}" for state in ("passed", "failed", "cancelled") if jobs[state]
    )
    screen.say(f"run {ended['id']} {ended['state']}: {counts or 'no job'}\n{ended['url']}")
    failed = [job for job in site.jobs(run=ended["id"]) if job["status"] not in ("", "pass")]
    if failed:
        rows = [
            (job["benchmark"], job["config"], job["status"], job["message"][:120]) for job in failed
        ]
        screen.table(("Benchmark", "Config", "Status", "Why"), rows)
