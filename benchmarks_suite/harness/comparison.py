"""The measuring process's own part of a job.

Stages 4 to 11 of measure.py, each a method, in that order.
"""

from __future__ import annotations

import gc
import os
import time
from statistics import median

import torch

from benchmarks_suite import loading
from benchmarks_suite.harness import (
    accuracy,
    ceilings,
    compiled_calls,
    compiling,
    dropout,
    kernel_traffic,
    observing,
    outcome,
    perf_hints,
    profiling,
    report,
    report_device,
    report_requested,
    shapes,
    shares,
    soak,
    timing,
    tolerances,
    torch_versions,
    warm_imports,
)
from benchmarks_suite.harness.arms import Arm, eager_arm, restored_state
from benchmarks_suite.harness.interference import Watch
from benchmarks_suite.harness.job import Job
from benchmarks_suite.harness.memory import PeakMemory
from benchmarks_suite.harness.result import Result
from benchmarks_suite.harness.timing import Stopwatch
from benchmarks_suite.harness.working_copies import WorkingCopy, settle_process

MEMORY_STEPS, MOVED_REFERENCES = 3, 4


class Comparison:
    """One case in this process: the eager arm, and the compiled one where the config compiles."""

    def __init__(self, job: Job, result: Result) -> None:
        self._job, self._result = job, result
        settle_process(job)
        self._device = torch.device(job.device)
        self._memory = PeakMemory(self._device)
        self._workload = loading.load(job.benchmark)
        backend = warm_imports.compiler(job)
        if backend is not None:
            torch_versions.import_compiler(backend)
        self._limits = perf_hints.recompile_limits()
        self._eager: Arm | None = None
        self._compiled: Arm | None = None
        self._eager_run: observing.Observed | None = None
        self._reference: observing.Observed | None = None

    def build(self) -> None:
        """4. Weights, batches, the state that is gone back to."""
        self._memory.start_counting()
        seed = self._job.measure.seed
        working_copy = WorkingCopy(self._job.benchmark, self._workload, self._job.device, seed)
        self._working_copy = working_copy
        self._stopwatch = Stopwatch(self._device, working_copy.batches)
        ranks = int(os.environ.get("WORLD_SIZE", "1"))  # 1 where the process is alone
        self._items_per_step = working_copy.items_per_step * ranks
        self._result.benchmark |= {
            "item": self._workload.item,
            "items_per_step": self._items_per_step,
            "parameters": working_copy.parameters,
        }

    def run_eager(self) -> None:
        """5. Eager's peak memory, then two runs.

        Where a compiled arm could still run, the case goes on without an eager arm when memory
        runs out.
        """
        try:
            self._run_eager()
        except Exception as error:
            ended = outcome.of(error, "eager")
            if ended.status != "oom" or not self._job.config.compares:
                raise
            self._result.arms["eager"] = {"status": "oom", "message": ended.message}
            self._eager = self._eager_run = None
        if self._eager is None:
            self._free()

    def _run_eager(self) -> None:
        self._eager = eager_arm(self._working_copy)
        with restored_state(self._eager) as copied_bytes:
            self._stopwatch.time(self._eager, 1)  # imports and state that only the first step makes
            self._memory.reset()
            self._stopwatch.time(self._eager, max(MEMORY_STEPS, len(self._working_copy.batches)))
            suites_own_bytes = copied_bytes + self._working_copy.bytes_beside_arms
            peak_gb = self._memory.peak_gb() - suites_own_bytes / 1e9
        report.eager_memory(self._job, self._result, peak_gb, self._memory.why_absent)

        self._eager_run = self._observe(self._without_dropout(self._eager))
        second_run = self._observe(self._without_dropout(self._eager))
        difference = accuracy.two_runs_differ(self._eager_run, second_run, self._dtype)
        report.two_runs(self._result, difference)

    def run_reference(self) -> None:
        """6. The same in float64.

        Where that cannot be had (memory, an operator), half types take float32 instead. Where
        neither can be had there is no verdict, and the reason is reported.
        """
        dtypes = [torch.float64]
        if self._dtype != torch.float32:
            dtypes.append(torch.float32)
        reasons = []
        for dtype in dtypes:
            reasons.append(self._reference_in(dtype))
            if self._reference is not None:
                return
            self._free()
        report.no_reference(self._result, "; ".join(reasons))

    def _reference_in(self, dtype: torch.dtype) -> str:
        """Makes the reference; where that fails, says why."""
        name = str(dtype).removeprefix("torch.")
        steps = self._job.measure.loss_steps
        try:
            reference = observing.observe_reference(self._working_copy, dtype, steps)
        except Exception as error:
            return f"{name} could not be had: {outcome.of(error, 'reference').message}"
        self._reference, self._reference_name = reference, name
        return ""

    def compile(self) -> None:
        """7. The compiled arm and its first step."""
        torch_versions.set_options("inductor", self._job.inductor)
        if self._job.on_gpu:
            kernel_traffic.observe()
        self._compiled = compiling.compiled_arm(self._working_copy, self._job.config)
        with restored_state(self._compiled):
            self._stopwatch.time(self._compiled, 1)

    def check_accuracy(self) -> None:
        """8. Drift of the compiled arm, by the rule of accuracy.py."""
        if self._reference is None or self._compiled is None:
            return
        arm = self._compiled
        if self._working_copy.has_dropout:
            arm = compiling.compiled_arm(self._working_copy, self._job.config, dropout=False)
        tolerance = tolerances.tolerance(self._dtype, in_float8=self._job.config.target == "float8")
        compared = self._observe(arm), self._eager_run, self._reference, tolerance
        verdict = accuracy.assess(*compared)
        if verdict.may_be_rounding:
            verdict = accuracy.assess(*compared, self._moved_references())
        if self._working_copy.has_dropout and not verdict.failures:
            self._check_dropout(verdict)
        report.verdict(self._result, verdict, self._reference_name, self._working_copy.training)
        for text in verdict.strides[:5]:
            self._result.mark("other_strides", text)
        self._reference = self._eager_run = None
        self._free()

    def _moved_references(self) -> list[observing.Observed]:
        """Compute the reference's outputs with weights and inputs rounded otherwise."""
        dtype, eps = getattr(torch, self._reference_name), torch.finfo(self._dtype).eps
        return [
            observing.observe_reference(self._working_copy, dtype, 0, rounding=eps, seed=seed)
            for seed in range(MOVED_REFERENCES)
        ]

    def _check_dropout(self, verdict: accuracy.AccuracyVerdict) -> None:
        """Check that the compiled arm that is timed drops as eager does."""
        eager, compiled = self._eager, self._compiled
        if eager is None or compiled is None or eager.forward is None or compiled.forward is None:
            return
        outputs = verdict.tensors.get("outputs", {})
        if "relative_l2" not in outputs:
            return
        drift = max(outputs["relative_l2"], outputs["eager_relative_l2"])
        batch = self._working_copy.batches[0]
        details, failure = dropout.compare(self._working_copy, eager, compiled, batch, drift)
        verdict.tensors["dropout"] = details
        if failure:
            verdict.failures.append(failure)

    def sample(self) -> None:
        """9. Warm-up, interleaved sampling, single steps."""
        measure = self._job.measure
        arms = [arm for arm in (self._eager, self._compiled) if arm is not None]
        for arm in arms:
            self._stopwatch.warm_up(arm)
        measured = arms[-1]
        step_ms, _ = self._stopwatch.time(measured, len(self._working_copy.batches))
        pairs_s = timing.pairs_budget_s(measure.budget_s, measure.single_steps, step_ms)
        start = time.perf_counter()
        with Watch(self._device.index) as watch:  # a CPU has no index
            samples, stop = timing.sample(
                self._stopwatch, arms, pairs_s, measure.target_percent, measure.seed
            )
            left_s = measure.budget_s - (time.perf_counter() - start)
            single = timing.single_steps(self._stopwatch, measured, measure.single_steps, left_s)

        report.sampling(self._job, self._result, samples, stop, self._items_per_step)
        if self._job.benchmark.family == "machine":
            rates = ceilings.measure(self._device)
            ceilings.save(rates, self._device)  # for the jobs after this one
            report.ceilings(self._result, rates[self._matmul], rates["copy"])
        own = samples[measured.name]
        self._report_shares(median(own.ms))
        report.percentiles(self._result, measured.name, own, single, measure)
        report.interference(self._result, watch)
        self._samples = samples
        for text in self._limits.texts:
            self._result.mark("recompile_limit", text)

    def profile(self) -> None:
        """10. Launching times, then the profiled pass of each arm: it would disturb any other."""
        measure, samples = self._job.measure, self._samples
        arms = [arm for arm in (self._eager, self._compiled) if arm is not None]
        if self._device.type == "cpu":
            report_device.cpu_time(self._result, samples)
        else:
            times_ms = timing.launches(
                self._stopwatch, arms[-1], measure.single_steps, measure.budget_s / 10
            )
            report_device.host_time(self._result, times_ms)
        if not measure.profile_steps:
            return
        for arm in arms:
            most, step_ms = measure.profile_steps, median(samples[arm.name].ms)
            if self._device.type == "cuda":
                most = profiling.enough(most, step_ms)
            steps = profiling.steps_of(self._working_copy.batches, most, step_ms, measure.budget_s)
            try:
                profile = profiling.profile(self._stopwatch, arm, self._device, steps)
            except profiling.ProfileFailed as error:
                report_device.no_profile(
                    self._result, arm.name, str(error), is_control=arm is not arms[-1]
                )
            else:
                report_device.profile(self._result, arm.name, profile)
        if self._device.type == "cuda":
            report_device.device_time(self._result, arms[-1].name)
        if self._compiled is not None:
            self._observe_calls(self._compiled)

    def _observe_calls(self, arm: Arm) -> None:
        """Measure what calling the compiled code costs, and its share of the forward pass."""
        result, batches = self._result, self._working_copy.batches
        step_ms, half_s = median(self._samples[arm.name].ms), self._job.measure.budget_s / 2
        steps = profiling.steps_of(batches, compiled_calls.STEPS, step_ms, half_s)
        try:
            compiled_calls.check(self._job)
            report_device.calls(result, compiled_calls.of_steps(arm, batches, steps))
        except compiled_calls.NotObserved as error:
            result.missing("overhead_us", str(error))
        try:
            compiled_calls.check(self._job)
            operators = compiled_calls.operators(self._job, self._eager, arm, batches)
            report_device.operators(result, *operators)
        except compiled_calls.NotObserved as error:
            result.missing("compiled_ops_percent", str(error))

    def soak(self) -> None:
        """11. Whether memory grows, of the arm that the case is about."""
        arm = self._compiled or self._eager
        assert arm is not None  # a case without either has ended
        batches = self._working_copy.batches
        if self._job.config.sweep:
            batches = shapes.walk(batches[0], self._workload.axes, self._job.config.sweep)
        stopwatch = Stopwatch(self._device, batches)
        self._memory.reset()
        steps = self._job.measure.soak_steps
        measured = soak.soak(stopwatch, arm, len(batches), steps, self._memory.in_use_gb)
        report_requested.soak(self._result, measured)

    def _report_shares(self, latency_ms: float) -> None:
        """Report the share of the machine's ceilings that a step reaches, where those are known."""
        rates = ceilings.load(self._device)
        if not rates:
            report.no_shares(self._result, "no benchmark `ceilings` has run on this machine")
            return
        if self._eager is None:
            report.no_shares(self._result, "there is no eager arm")
            return
        try:
            flops = shares.flops_of(self._working_copy, self._eager)
        # An operator that the counter cannot enter is no reason to lose the case
        except Exception as error:
            report.no_shares(self._result, f"the step's operations cannot be counted: {error}")
            return
        matmul_s = flops / rates[self._matmul] / 1e12
        copy_s = None
        if not self._working_copy.training:
            copy_s = shares.least_bytes(self._working_copy) / rates["copy"] / 1e9
        report.shares(self._result, latency_ms, matmul_s, copy_s)

    def _observe(self, arm: Arm) -> observing.Observed:
        working_copy, steps = self._working_copy, self._job.measure.loss_steps
        return observing.observe(working_copy, arm, working_copy.batches, steps)

    def _without_dropout(self, arm: Arm) -> Arm:
        if not self._working_copy.has_dropout:
            return arm
        return eager_arm(self._working_copy, dropout=False)

    @property
    def _dtype(self) -> torch.dtype:
        return self._working_copy.autocast_dtype or self._working_copy.dtype

    @property
    def _matmul(self) -> str:
        """The name of the ceiling that this benchmark's matmuls are under."""
        return f"matmul.{str(self._dtype).removeprefix('torch.')}"

    def _free(self) -> None:
        """Gives back what is no longer used, and what a step held that ran out of memory."""
        gc.collect()
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
            torch.cuda.empty_cache()
