"""What happens in the measuring process itself: stages 4 to 9 of measure.py, each a method, in that
order.
"""

from __future__ import annotations

import gc
import time

import torch

from benchmarks_suite import loading
from benchmarks_suite.harness import (
    accuracy,
    ceilings,
    compiling,
    outcome,
    ranks,
    report,
    shares,
    statistics,
    timing,
    torch_versions,
)
from benchmarks_suite.harness.arms import Arm, eager_arm, restored_state
from benchmarks_suite.harness.interference import Watch
from benchmarks_suite.harness.job import Job
from benchmarks_suite.harness.memory import PeakMemory
from benchmarks_suite.harness.prepared import Prepared, settle_process
from benchmarks_suite.harness.result import Result
from benchmarks_suite.harness.timing import Stopwatch

MEMORY_STEPS = 3


class Comparison:
    """One case in this process: the eager arm, and the compiled one where the config compiles."""

    def __init__(self, job: Job, result: Result) -> None:
        self._job, self._result = job, result
        settle_process(job)
        self._device = torch.device(job.device)
        self._workload = loading.load(job.benchmark)
        if job.config.compiles or job.benchmark.mode == "training":
            # Eager's optimizer needs it: both arms count alike
            torch_versions.import_compiler(job.config.backend)
        self._memory = PeakMemory(self._device)
        self._eager: Arm | None = None
        self._compiled: Arm | None = None
        self._eager_seen: accuracy.Observed | None = None
        self._reference: accuracy.Observed | None = None

    def build(self) -> None:
        """4. Weights, batches, the state that is gone back to."""
        prepared = self._prepared = Prepared(
            self._job.benchmark, self._workload, self._job.device, self._job.measure.seed
        )
        self._stopwatch = Stopwatch(self._device, prepared.batches)
        self._items_per_step = prepared.items_per_step * ranks.count_here()
        self._result.benchmark |= {
            "item": self._workload.item,
            "items_per_step": self._items_per_step,
            "parameters": prepared.parameters,
        }

    def run_eager(self) -> None:
        """5. Eager's peak memory, then two runs. Where a compiled arm could still run, running out
        of memory is survived.
        """
        try:
            self._run_eager()
        except Exception as error:
            ended = outcome.of(error, "eager")
            if ended.status != "oom" or not self._job.config.compiles:
                raise
            self._result.arms["eager"] = {"status": "oom", "message": ended.message}
            self._eager = self._eager_seen = None
        if self._eager is None:
            self._free()

    def _run_eager(self) -> None:
        self._eager = eager_arm(self._prepared)
        with restored_state(self._eager) as copied_bytes:
            self._stopwatch.time(self._eager, 1)  # imports and state that only the first step makes
            self._memory.reset()
            self._stopwatch.time(self._eager, max(MEMORY_STEPS, len(self._prepared.batches)))
            beside_bytes = copied_bytes + self._prepared.bytes_beside_arms
            peak_gb = self._memory.peak_gb() - beside_bytes / 1e9
        report.eager_memory(self._job, self._result, peak_gb, self._memory.why_absent)
        self._eager_seen = self._observe(self._without_dropout(self._eager))
        if not self._eager_seen.finite:
            raise ValueError(
                "the output, the loss or a gradient is not finite in eager: nothing can be "
                "compared with it"
            )
        second = self._observe(self._without_dropout(self._eager))
        report.two_runs(
            self._result, accuracy.two_runs_differ(self._eager_seen, second, self._dtype)
        )

    def run_reference(self) -> None:
        """6. The same in float64. Where that cannot be had (memory, an operator), half types take
        float32 instead.

        Where neither can be had there is no verdict, and the reason is told.
        """
        reasons = []
        for dtype in (
            (torch.float64,) if self._dtype == torch.float32 else (torch.float64, torch.float32)
        ):
            reasons.append(self._reference_in(dtype))
            if self._reference is not None:
                return
            self._free()
        report.no_reference(self._result, "; ".join(reasons))

    def _reference_in(self, dtype: torch.dtype) -> str:
        """Makes the reference; where that fails, says why."""
        name = str(dtype).removeprefix("torch.")
        try:
            found = accuracy.observe_reference(self._prepared, dtype, self._job.measure.loss_steps)
        except Exception as error:
            return f"{name} could not be had: {outcome.of(error, 'reference').message}"
        if not found.finite:
            return (
                f"the {name} run itself is not finite: the benchmark overflows or divides by zero"
            )
        self._reference, self._reference_name = found, name
        return ""

    def compile(self) -> None:
        """7. The compiled arm and its first step."""
        torch_versions.set_options("inductor", self._job.inductor)
        self._compiled = compiling.compiled_arm(self._prepared, self._job.config)
        with restored_state(self._compiled):
            self._stopwatch.time(self._compiled, 1)

    def check_accuracy(self) -> None:
        """8. Drift of the compiled arm, judged by the rule of accuracy.py."""
        if self._reference is None or self._compiled is None:
            return
        arm = self._compiled
        if self._prepared.has_dropout:
            arm = compiling.compiled_arm(self._prepared, self._job.config, dropout=False)
        tolerance = accuracy.tolerance(self._dtype, in_float8=self._job.config.target == "float8")
        verdict = accuracy.judge(self._observe(arm), self._eager_seen, self._reference, tolerance)
        report.verdict(self._result, verdict, self._reference_name, self._prepared.training)
        self._reference = self._eager_seen = None
        self._free()

    def sample(self) -> None:
        """9. Warm-up, interleaved sampling, single steps."""
        measure = self._job.measure
        arms = [arm for arm in (self._eager, self._compiled) if arm is not None]
        for arm in arms:
            self._stopwatch.warm_up(arm)
        measured = arms[-1]
        step_ms, _ = self._stopwatch.time(measured, len(self._prepared.batches))
        pairs_s = timing.pairs_budget_s(measure.budget_s, measure.single_steps, step_ms)
        start = time.perf_counter()
        with Watch(self._device.index if self._device.type == "cuda" else None) as watch:
            taken, stop = timing.sample(
                self._stopwatch, arms, pairs_s, measure.target_percent, measure.seed
            )
            left_s = measure.budget_s - (time.perf_counter() - start)
            single = timing.single_steps(self._stopwatch, measured, measure.single_steps, left_s)
        report.sampling(self._job, self._result, taken, stop, self._items_per_step)
        if self._job.benchmark.family == "machine":
            self._ceilings()
        self._shares(statistics.median(taken[measured.name].ms))
        report.percentiles(self._result, measured.name, taken[measured.name], single, measure)
        report.interference(self._result, watch)

    def _ceilings(self) -> None:
        """The machine's own rates: told as metrics, and kept for the jobs after this one."""
        found = ceilings.measure(self._device)
        ceilings.save(found, self._device)
        report.ceilings(self._result, found[self._matmul], found["copy"])

    def _shares(self, latency_ms: float) -> None:
        """Which share of the machine's ceilings a step reaches, where those are known."""
        known = ceilings.known(self._device)
        if not known or self._eager is None:
            report.no_shares(
                self._result,
                "no benchmark `ceilings` has run on this machine"
                if not known
                else "there is no eager arm",
            )
            return
        try:
            flops = shares.flops_of(self._prepared, self._eager)
        except (
            Exception
        ) as error:  # an operator that the counter cannot enter is no reason to lose the case
            report.no_shares(self._result, f"the step's operations cannot be counted: {error}")
            return
        rate = known[self._matmul]
        moved = None if self._prepared.training else shares.least_bytes(self._prepared)
        report.shares(
            self._result,
            latency_ms,
            flops / rate / 1e12,
            moved / known["copy"] / 1e9 if moved else None,
        )

    def _observe(self, arm: Arm) -> accuracy.Observed:
        return accuracy.observe(
            self._prepared, arm, self._prepared.batches, self._job.measure.loss_steps
        )

    def _without_dropout(self, arm: Arm) -> Arm:
        return eager_arm(self._prepared, dropout=False) if self._prepared.has_dropout else arm

    @property
    def _dtype(self) -> torch.dtype:
        return self._prepared.autocast_dtype or self._prepared.dtype

    @property
    def _matmul(self) -> str:
        """The name of the ceiling that this benchmark's matmuls are under."""
        return f"matmul.{str(self._dtype).removeprefix('torch.')}"

    def _free(self) -> None:
        """Gives back what is no longer used, also what a step held that ran out of memory."""
        gc.collect()
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
            torch.cuda.empty_cache()
