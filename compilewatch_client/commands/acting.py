"""`triage`, `bisect` and `schedules`: act on an alert, search for the build that changed a case,
trigger a schedule.
"""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import get_args

from compilewatch_client import screen
from compilewatch_client.commands.asking import client, declare_site
from compilewatch_client.documents import Act, Bisection, Schedule
from dashboard.language.wording import plural

OK, NOT_FOUND = 0, 1
LISTS = ("changes",)  # fields that take several values, separated by commas


def declare_triage(parser: ArgumentParser) -> None:
    parser.add_argument("alert", type=int, help="number of the alert")
    parser.add_argument("act", choices=get_args(Act), help="what to do with it")
    parser.add_argument(
        "fields",
        nargs="*",
        type=_field,
        metavar="FIELD=VALUE",
        help='of the call, as to=acknowledged why="known"',
    )
    declare_site(parser)


def triage(options: Namespace) -> int:
    what = {name: value.split(",") if name in LISTS else value for name, value in options.fields}
    with client(options) as site:
        found = site.triage(options.alert, options.act, **what)
    screen.as_json(found) if options.json else screen.say(
        f"alert {found['id']} is {found['state']}: {found['title']}\n{found['url']}"
    )
    return OK


def _field(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ArgumentTypeError(f'{text!r}: write FIELD=VALUE, as why="known since Monday"')
    return name, value


def declare_bisect(parser: ArgumentParser) -> None:
    parser.add_argument("base", help="the older torch build, as 2.11.0")
    parser.add_argument("new", help="the newer one, as 2.13.0")
    parser.add_argument("--benchmark", required=True, help="a benchmark of the case that changed")
    parser.add_argument("--config", required=True, help="its config")
    parser.add_argument(
        "--metric", default="latency_ms", help="what changed (latency_ms); passed: it began to fail"
    )
    parser.add_argument("--machine", default="", help="key of a machine (the only one)")
    parser.add_argument("--no-watch", action="store_true", help="do not wait for its end")
    declare_site(parser)


def bisect(options: Namespace) -> int:
    """0: found; 1: not found."""
    what = {name: getattr(options, name) for name in ("benchmark", "config", "metric", "machine")}
    with client(options) as site:
        found = site.bisect(options.base, options.new, **what)
        if options.no_watch:
            screen.as_json(found) if options.json else screen.say(found["url"])
            return OK
        screen.err().print(found["url"])
        found = screen.follow(lambda: site.bisection(found["id"]))
    screen.as_json(found) if options.json else _tell(found)
    return OK if found["state"] == "found" else NOT_FOUND


def _tell(found: Bisection) -> None:
    screen.say(f"{found['state']}: {found['message']}\n{found['commit_range']}".rstrip())
    rows = [
        (step["build"], step["verdict"].replace("_", " "), str(step["repeats"]))
        for step in found["steps"]
    ]
    screen.table(("Build", "It is", "Processes"), rows, numbers=("Processes",))
    screen.say(f"\n{found['url']}")


def declare_schedules(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--trigger", type=int, metavar="NUMBER", help="trigger the run of this schedule now"
    )
    declare_site(parser)


def schedules(options: Namespace) -> int:
    with client(options) as site:
        if options.trigger is not None:
            run = site.trigger_schedule(options.trigger)
            screen.as_json(run) if options.json else screen.say(
                f"run {run['id']}: {plural(run['jobs']['total'], 'job')}"
            )
            return OK
        found = list(site.schedules())
    screen.as_json(found) if options.json else _tell_schedules(found)
    return OK


def _tell_schedules(found: list[Schedule]) -> None:
    rows = [
        (
            str(one["id"]),
            one["name"],
            "on" if one["enabled"] else "off",
            one["when"],
            one["machine"],
            one["track"],
            one["problem"],
        )
        for one in found
    ]
    screen.table(
        ("Schedule", "Name", "", "When", "Machine", "Track", "Problem"), rows, numbers=("Schedule",)
    )
