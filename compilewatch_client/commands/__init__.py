"""The subcommands of `compilewatch`, an entry each."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass

from compilewatch_client.commands import (
    alerts,
    bisections,
    comparisons,
    gate,
    mcp,
    runs,
    schedules,
    series,
)


@dataclass(frozen=True)
class Subcommand:
    """about: for the help. run: acts, and returns the exit code."""

    about: str
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]


SUBCOMMANDS = {
    "run": Subcommand("trigger a run and follow it", runs.add_run_arguments, runs.run),
    "watch": Subcommand("follow a run until it has ended", runs.add_watch_arguments, runs.watch),
    "compare": Subcommand(
        "measure two builds in turn and report what changed",
        comparisons.add_compare_arguments,
        comparisons.compare,
    ),
    "upgrade-report": Subcommand(
        "the report of a comparison", comparisons.add_report_arguments, comparisons.upgrade_report
    ),
    "gate": Subcommand(
        "may this change go in? Exit code 0, 1, 2 or 3", gate.add_arguments, gate.run
    ),
    "series": Subcommand(
        "series with their newest value, or all their data", series.add_arguments, series.run
    ),
    "alerts": Subcommand("what changed", alerts.add_alerts_arguments, alerts.alerts),
    "triage": Subcommand(
        "act on an alert, as its page does", alerts.add_triage_arguments, alerts.triage
    ),
    "bisect": Subcommand(
        "search between two builds for where a case changed",
        bisections.add_arguments,
        bisections.run,
    ),
    "schedules": Subcommand(
        "what is triggered by itself, and trigger it now", schedules.add_arguments, schedules.run
    ),
    "mcp": Subcommand("serve agents on stdin and stdout", mcp.add_arguments, mcp.run),
}
