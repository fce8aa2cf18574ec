"""`schedules`: list them, or trigger one now."""

from argparse import ArgumentParser, Namespace

from compilewatch_client import terminal
from compilewatch_client.api_types import ScheduleDocument
from compilewatch_client.commands.options import OK, add_site_options, connect
from compilewatch_client.commands.runs import print_triggered


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--trigger", type=int, metavar="NUMBER", help="trigger the run of this schedule now"
    )
    add_site_options(parser)


def run(options: Namespace) -> int:
    with connect(options) as client:
        if options.trigger is not None:
            print_triggered(client.trigger_schedule(options.trigger), options)
            return OK
        schedules = list(client.schedules())
    if options.json:
        terminal.print_json(schedules)
    else:
        header = ("Schedule", "Name", "", "When", "Machine", "Track", "Problem")
        terminal.print_table(header, map(_row, schedules), numbers=("Schedule",))
    return OK


def _row(schedule: ScheduleDocument) -> tuple[str, ...]:
    return (
        str(schedule["id"]),
        schedule["name"],
        "on" if schedule["enabled"] else "off",
        schedule["when"],
        schedule["machine"],
        schedule["track"],
        schedule["problem"],
    )
