"""``blame``: the first repeated block whose output or gradient leaves the accuracy rule."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from benchmarks_suite.commands import run as run_command
from benchmarks_suite.harness import job, progress, table

if TYPE_CHECKING:
    from benchmarks_suite.harness.block_drift import BlockDrift

NONE_LEAVES, SOME_LEAVES, UNSUPPORTED = 0, 3, 4


def declare(parser: ArgumentParser) -> None:
    run_command.declare_case(parser)


def run(options: Namespace) -> int:
    case = job.parse(run_command.document(options))
    # Only here, since they import torch
    import torch

    from benchmarks_suite import loading
    from benchmarks_suite.harness import block_drift, torch_versions
    from benchmarks_suite.harness.working_copies import WorkingCopy, settle_process
    from benchmarks_suite.workload import Unsupported

    settle_process(case)
    torch_versions.set_options("inductor", case.inductor)
    workload = loading.load(case.benchmark)
    working_copy = WorkingCopy(case.benchmark, workload, case.device, case.measure.seed)
    try:
        try:
            drifts = block_drift.of_blocks(working_copy, case.config, torch.float64)
        except RuntimeError as error:  # among them NotImplementedError
            progress.note(f"no reference in float64: {error}; float32 instead")
            drifts = block_drift.of_blocks(working_copy, case.config, torch.float32)
    except Unsupported as error:
        progress.note(f"benchmarks_suite: {error}")
        return UNSUPPORTED
    progress.answer(_rendered(drifts))
    return SOME_LEAVES if any(each.leaves_rule for each in drifts) else NONE_LEAVES


def _rendered(drifts: list[BlockDrift]) -> str:
    """A line for each block, and the first that leaves the rule."""
    lines = [f"{'':1} {'':8} {'drift':>9} {'eager':>9} {'allowed':>9}  block"]
    for each in drifts:
        mark = "✕" if each.leaves_rule else ""
        numbers = [table.number(value) for value in (each.drift, each.eager_drift, each.allowed)]
        columns = " ".join(f"{number:>9}" for number in numbers)
        lines.append(f"{mark:1} {each.what:8} {columns}  {each.name}")
    first = next((each for each in drifts if each.leaves_rule), None)
    if first is None:
        lines.append("No block leaves the rule when each is compiled by itself.")
    else:
        lines.append(f"first: the {first.what} of {first.name}")
    return "\n".join(lines)
