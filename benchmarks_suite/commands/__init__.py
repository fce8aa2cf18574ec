"""The commands of ``python -m benchmarks_suite``: one file each, its options and what it does."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks_suite.commands import (
    batch,
    ceilings,
    compare,
    interleave,
    listing,
    noise,
    run,
)


@dataclass(frozen=True)
class Command:
    """help: one line. declare: adds the options. run: does it and returns the exit code."""

    help: str
    declare: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]


COMMANDS = {
    "list": Command("what can be measured, and with which configs", listing.declare, listing.run),
    "run": Command("measure one case", run.declare, run.run),
    "batch": Command("measure a list of cases, unattended and resumable", batch.declare, batch.run),
    "interleave": Command(
        "measure a list of cases in several builds, in turn", interleave.declare, interleave.run
    ),
    "compare": Command(
        "two results, or two folders of them, case by case", compare.declare, compare.run
    ),
    "noise": Command(
        "how much each metric differs between fresh processes", noise.declare, noise.run
    ),
    "ceilings": Command(
        "this machine's own matmul rate and copy bandwidth", ceilings.declare, ceilings.run
    ),
}
