"""Injects wrong outputs into every smoke benchmark on a CPU: all are to be caught, no right ones.

    python -m tests.lab.wrong_outputs [--backend inductor] [PART OF A NAME ...]

Each model's step also returns what compilers were seen to get wrong: positions, a mask, a second
output, rows that are not a number, complex numbers. An arm compiled as it is says whether the rule
gives a false alarm; then one output of it after the other is made wrong. Distributed models run as
one rank. Exits with 1 after a false alarm or an error that was not caught.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from benchmarks_suite.benchmark import Benchmark
from benchmarks_suite.harness import accuracy, observing, tolerances
from benchmarks_suite.harness.arms import arm_around, eager_arm, new_optimizer
from benchmarks_suite.harness.observing import Observed
from benchmarks_suite.harness.working_copies import WorkingCopy
from benchmarks_suite.loading import load
from benchmarks_suite.registry import SUITE
from benchmarks_suite.workload import Unsupported, Workload

MOVED_REFERENCES, MOST_COLUMNS = 4, 4096
INJECTIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "outputs": lambda own: own.roll(1, -1),
    "outputs['positions']": lambda positions: positions + 1,
    "outputs['mask']": lambda mask: mask.logical_not(),
    "outputs['second']": lambda second: second * 1.5,
    "outputs['masked']": lambda masked: masked.nan_to_num(),
    "outputs['spectrum']": lambda spectrum: spectrum.conj().resolve_conj(),
}


def extended(workload: Workload) -> Workload:
    """The workload with five more outputs, made of its own."""

    def call(module: Any, batch: Any) -> dict[str, Any]:
        result = workload.call(module, batch)
        own = workload.output(result).detach()
        rows = own.float().reshape(len(own), -1)[:, :MOST_COLUMNS]  # (batch, columns)
        is_first = (torch.arange(len(rows)) == 0)[:, None]
        return {
            "own": result,
            "positions": rows.argmax(-1),
            "mask": rows > rows.mean(),
            "second": rows.square().mean(-1),
            "masked": torch.cat([rows, rows]).masked_fill(
                torch.cat([is_first, ~is_first]), torch.nan
            ),
            "spectrum": torch.fft.rfft(rows, n=64),
        }

    loss = workload.loss
    return replace(
        workload,
        call=call,
        output=lambda result: workload.output(result["own"]),
        loss=loss and (lambda result, batch: loss(result["own"], batch)),
    )


def reference_of(copy: WorkingCopy) -> tuple[torch.dtype, Observed]:
    """In float64; where an operator lacks it, half types take float32, as in a job."""
    try:
        return torch.float64, observing.observe_reference(copy, torch.float64, steps=1)
    except RuntimeError:
        if copy.dtype == torch.float32:
            raise
        return torch.float32, observing.observe_reference(copy, torch.float32, steps=1)


def wrong(observed: Observed, name: str) -> Observed:
    change = INJECTIONS[name]
    if name == "outputs":
        assert observed.output is not None
        return replace(observed, output=change(observed.output))
    path = name.removeprefix("outputs")
    return replace(observed, others={**observed.others, path: change(observed.others[path])})


def judge(benchmark: Benchmark, backend: str) -> Iterator[tuple[str, str]]:
    """(what was injected, why it fails) of each injection; the first is that of nothing."""
    copy = WorkingCopy(benchmark, extended(load(benchmark)), "cpu", seed=0)
    module = copy.twin(dropout=False)
    torch._dynamo.reset()
    compiled = torch.compile(module, backend=backend)
    arm = arm_around("compiled", copy, module, compiled, new_optimizer(copy, module))
    observed = observing.observe(copy, arm, copy.batches, steps=1)
    eager = observing.observe(copy, eager_arm(copy, dropout=False), copy.batches, steps=1)
    wide, reference = reference_of(copy)
    tolerance = tolerances.tolerance(copy.autocast_dtype or copy.dtype)

    @cache
    def moved() -> list[Observed]:
        eps = torch.finfo(copy.autocast_dtype or copy.dtype).eps
        return [
            observing.observe_reference(copy, wide, 0, rounding=eps, seed=seed)
            for seed in range(MOVED_REFERENCES)
        ]

    def failures(of: Observed) -> str:
        verdict = accuracy.assess(of, eager, reference, tolerance)
        if verdict.may_be_rounding:
            verdict = accuracy.assess(of, eager, reference, tolerance, moved())
        return "; ".join(verdict.failures)

    yield "nothing", failures(observed)
    for name in INJECTIONS:
        yield name, failures(wrong(observed, name))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--backend", default="aot_eager")
    options = parser.parse_args()
    meeting_point = Path(tempfile.mkdtemp()) / "ranks"
    dist.init_process_group("gloo", f"file://{meeting_point}", rank=0, world_size=1)
    benchmarks = [each for each in SUITE.values() if each.size == "smoke"]
    judged = problems = 0
    for benchmark in benchmarks:
        if options.names and not any(part in benchmark.name for part in options.names):
            continue
        try:
            verdicts = dict(judge(benchmark, options.backend))
        except (Unsupported, ImportError, RuntimeError, NotImplementedError) as error:
            print(f"{benchmark.name}: not run: {str(error).splitlines()[0][:200]}", flush=True)
            continue
        judged += 1
        false_alarm = verdicts.pop("nothing")
        missed = [name for name, why in verdicts.items() if not why]
        problems += bool(false_alarm) + len(missed)
        caught = f"{len(verdicts) - len(missed)} of {len(verdicts)} caught"
        alarm = f"false alarm: {false_alarm}" if false_alarm else "no false alarm"
        print(f"{benchmark.name}: {caught} {missed or ''}, {alarm}", flush=True)
    print(f"{judged} of {len(benchmarks)} benchmarks judged, {problems} problems")
    sys.exit(problems > 0)


if __name__ == "__main__":
    main()
