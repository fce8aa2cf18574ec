"""The subcommands of `compilewatch`, one line each."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass

from compilewatch_client.commands import acting, comparing, gate, reading, runs


@dataclass(frozen=True)
class Command:
    """about: for the help. run: acts, and answers the exit code."""

    about: str
    declare: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]


COMMANDS = {
    "run": Command("trigger a run and follow it", runs.declare_run, runs.run),
    "watch": Command("follow a run until it has ended", runs.declare_watch, runs.watch),
    "compare": Command(
        "measure two builds in turn and tell what changed",
        comparing.declare_compare,
        comparing.compare,
    ),
    "upgrade-report": Command(
        "the report of a comparison", comparing.declare_report, comparing.upgrade_report
    ),
    "gate": Command("may this change go in? Exit code 0, 1 or 3", gate.declare, gate.run),
    "series": Command(
        "series with their newest value, or all their data", reading.declare_series, reading.series
    ),
    "alerts": Command("what changed", reading.declare_alerts, reading.alerts),
    "triage": Command("act on an alert, as its page does", acting.declare_triage, acting.triage),
    "bisect": Command(
        "search between two builds for where a case changed", acting.declare_bisect, acting.bisect
    ),
    "schedules": Command(
        "what is triggered by itself, and trigger it now",
        acting.declare_schedules,
        acting.schedules,
    ),
}
