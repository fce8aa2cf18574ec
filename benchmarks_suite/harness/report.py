"""From what was seen to metrics, sections and reasons of absence. Keys are those of
dashboard/metrics.py.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from benchmarks_suite.harness import statistics
from benchmarks_suite.harness.job import Job, Measure
from benchmarks_suite.harness.outcome import CaseOutcome
from benchmarks_suite.harness.result import Result

if TYPE_CHECKING:
    from benchmarks_suite.harness.accuracy import AccuracyVerdict
    from benchmarks_suite.harness.interference import Watch
    from benchmarks_suite.harness.timing import Samples, Stop

_OF_EVERY_CASE = (
    "latency_ms",
    "latency_p90_ms",
    "latency_p99_ms",
    "throughput_per_s",
    "peak_memory_gb",
)
_OF_BOTH_ARMS = (
    *(
        "speedup",
        "eager_latency_ms",
        "break_even_steps",
        "eager_peak_memory_gb",
        "compression_ratio",
    ),
    *("drift", "eager_drift"),
)
_OF_TRAINING = ("drift_gradients", "eager_drift_gradients", "drift_loss", "eager_drift_loss")
_OF_THE_COMPILER = (
    *("compile_dynamo_s", "compile_aot_s", "compile_inductor_s", "compile_triton_s", "toolchain_s"),
    *("graph_breaks", "unique_graphs", "recompiles", "guard_overhead_us"),
)
_OF_A_START = {
    "cold": (
        *("cold_start_s", "steady_after_s", "compile_cpu_s", "break_even_steps", *_OF_THE_COMPILER),
        *("peak_memory_gb", "compile_peak_memory_gb", "compression_ratio"),
    ),
    "warm": ("warm_start_s", "cache_hits"),
    "restored": ("restored_start_s", "artifact_size_mb"),
}
NOTHING_COMPILED = "Nothing was compiled: dynamo skipped every frame, so both arms ran in eager"
COMPILED_BY_DYNAMO = ("module", "blocks", "parts", "train_step")
_OF_COMPILING = tuple(
    dict.fromkeys(key for keys in _OF_A_START.values() for key in keys if key != "peak_memory_gb")
)


def start(result: Result, kind: str, answer: dict[str, Any]) -> None:
    """One start: its own section, and the metrics that are made from it."""
    shown = {key: value for key, value in answer.items() if key not in ("compile", "error")}
    result.sections.setdefault("starts", {})[kind] = shown
    if answer["status"] != "pass":
        for key in _OF_A_START.get(kind, ()):
            result.missing(key, f"the {kind} start ended {answer['status']}: {answer['message']}")
        return
    if kind == "cold_again":
        _same_code(result, answer["compile"]["fingerprints"])
    elif kind == "ahead":
        _ahead(result, answer)
    else:
        result.measured(f"{kind}_start_s", answer["first_step_s"])
    if kind == "cold":
        _cold(result, answer)
    if kind == "warm":
        _told(result, "cache_hits", answer["compile"]["cache_hits"], "torch counts them since 2.2")


def _told(result: Result, key: str, value: float | None, why_not: str) -> None:
    """A metric, or why there is none where ``value`` is None."""
    if value is None:
        result.missing(key, why_not)
    else:
        result.measured(key, value)


def _same_code(result: Result, again: dict[str, str | None]) -> None:
    """Marks the fingerprints as unstable where a second cold start generated other code."""
    first = result.sections.get("compile", {}).get("fingerprints", {})
    different = [kind for kind in first if first[kind] != again.get(kind)]
    if different:
        result.mark(
            "fingerprint_unstable",
            f"two cold starts of this job generated different code ({', '.join(different)}):"
            " a difference from another build's says nothing",
        )


def _cold(result: Result, answer: dict[str, Any]) -> None:
    facts = answer["compile"]
    phases = facts["phases_s"]
    result.measured("steady_after_s", answer["steady_after_s"])
    result.measured("compile_cpu_s", answer["cpu_s"])
    for key, phase in (
        ("dynamo", "dynamo"),
        ("aot", "aot"),
        ("inductor", "inductor"),
        ("triton", "kernels"),
    ):
        result.measured(f"compile_{key}_s", phases[phase])
    _memory(result, answer)
    compiler_facts(result, facts)
    if answer.get("artifact_bytes"):
        result.measured("artifact_size_mb", answer["artifact_bytes"] / 1e6)


def _ahead(result: Result, answer: dict[str, Any]) -> None:
    """What a case that was compiled beside others tells: no time of it means anything."""
    result.missing(
        "guard_overhead_us",
        "it was compiled ahead, beside other cases, where no time means anything",
    )
    _memory(result, answer)
    timed = {"phases_s", "submodules", "guard_overhead_us"}
    compiler_facts(
        result, {key: value for key, value in answer["compile"].items() if key not in timed}
    )


def _memory(result: Result, answer: dict[str, Any]) -> None:
    for key, peak in (("peak_memory_gb", "peak_gb"), ("compile_peak_memory_gb", "compile_peak_gb")):
        _told(
            result, key, None if answer["why_no_memory"] else answer[peak], answer["why_no_memory"]
        )


def compiler_facts(result: Result, facts: dict[str, Any]) -> None:
    """The ``compile`` section, and the counts made from it."""
    # Places; a recompile comes by each of them again
    result.measured("graph_breaks", len(facts["graph_breaks"]))
    result.measured("unique_graphs", facts["counters"].get("stats.unique_graphs", 0))
    recompiles = None if facts["recompiles"] is None else len(facts["recompiles"])
    _told(result, "recompiles", recompiles, "torch tells recompilations since 2.3")
    _told(
        result,
        "guard_overhead_us",
        facts.get("guard_overhead_us"),
        "torch profiles its guards since 2.6",
    )
    kept = ("graph_breaks", "phases_s", "counters", "fingerprints", "submodules", "hints")
    result.sections["compile"] = {key: facts[key] for key in kept if key in facts} | {
        "recompiles": (facts["recompiles"] or [])[:1000]
    }


def eager_memory(job: Job, result: Result, peak_gb: float, why_absent: str) -> None:
    """Eager's peak: the case's own where the config is eager, else beside it."""
    key = "eager_peak_memory_gb" if job.config.compiles else "peak_memory_gb"
    _told(result, key, None if why_absent else peak_gb, why_absent)


def two_runs(result: Result, difference: str) -> None:
    """Whether two eager runs from one state agree."""
    if difference:
        result.failed(
            CaseOutcome(
                "eager_two_runs_differ",
                "Two eager runs from the same state differ, so drift cannot be judged: "
                f"{difference}."
                " Make the model deterministic.",
            )
        )


def no_reference(result: Result, reason: str) -> None:
    """Accuracy cannot be judged: told as such, never as a pass."""
    result.sections["accuracy"] = {
        "status": "no_reference",
        "reference": reason[:200],
        "tensors": {},
    }
    for key in ("drift", "eager_drift", *_OF_TRAINING, "passed"):
        result.missing(key, f"no reference: {reason}")


def verdict(result: Result, found: AccuracyVerdict, reference: str, training: bool) -> None:
    """Drift of the compiled arm, eager's beside it, and the status that follows."""
    from benchmarks_suite.harness import accuracy

    judged = result.status == "pass"
    status = "not_checked" if not judged else "fail" if found.failures else "pass"
    result.sections["accuracy"] = {
        "status": status,
        "reference": f"{reference}, eager, same weights and inputs, dropout 0",
        "rule": accuracy.RULE,
        "tensors": {name: _finite(values) for name, values in found.tensors.items()},
        "matmul_precision": accuracy.matmul_precision(),
    }
    for key, name in (
        ("drift", "outputs"),
        ("drift_gradients", "gradients"),
        ("drift_loss", "loss"),
    ):
        values = found.tensors.get(name)
        if values is None:
            result.missing(
                key,
                "the whole step is one function: it cannot be seen apart"
                if training
                else "only training has one",
            )
            continue
        result.measured(key, values["relative_l2"])
        if values["eager_relative_l2"] is not None:
            result.measured(f"eager_{key}", values["eager_relative_l2"])
    if found.failures:
        result.failed(
            CaseOutcome(
                "fail_accuracy",
                f"The compiled arm is further from {reference} than the rule allows: "
                f"{'; '.join(found.failures)}",
            )
        )


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in values.items()
    }


def sampling(
    job: Job, result: Result, taken: dict[str, Samples], stop: Stop, items_per_step: float
) -> None:
    """Latency, throughput, speedup and break-even, with their intervals."""
    from benchmarks_suite.harness import timing

    result.samples |= {name: samples.document() for name, samples in taken.items()}
    result.sections["sampling"] = stop.document()
    own = taken.get("compiled") or taken["eager"]
    latency = statistics.median_interval(own.ms)
    _measured(result, "latency_ms", latency)
    _measured(
        result,
        "throughput_per_s",
        statistics.mapped(latency, lambda ms: items_per_step / ms * 1000),
    )
    if len(taken) < 2:
        if job.config.compiles:
            for key in ("speedup", "eager_latency_ms", "break_even_steps"):
                result.missing(key, f"there is no eager arm: {result.arms['eager']['message']}")
        return
    _measured(result, "eager_latency_ms", statistics.median_interval(taken["eager"].ms))
    _measured(result, "speedup", timing.speedup(taken["eager"], taken["compiled"]))
    if "cold_start_s" in result.metrics:
        saved = timing.saved_ms(taken["eager"], taken["compiled"])
        steps = statistics.break_even(result.metrics["cold_start_s"]["value"], latency.value, saved)
        if steps is None:
            result.missing(
                "break_even_steps", "never: the compiled step is not faster than the eager one"
            )
        else:
            _measured(result, "break_even_steps", steps)


def ceilings(
    result: Result, matmul_tflops: statistics.Interval, copy_gb_s: statistics.Interval
) -> None:
    """What the machine itself can do: told by the benchmarks of the family ``machine``."""
    _measured(result, "matmul_ceiling_tflops", matmul_tflops)
    _measured(result, "bandwidth_ceiling_gb_s", copy_gb_s)


def shares(result: Result, latency_ms: float, matmul_s: float, copy_s: float | None) -> None:
    """Share of the ceilings: the time that a step needs at the machine's own rates / the time that
    it took.

    matmul_s: its operations at the matmul rate; copy_s: its least traffic at the copy bandwidth,
        None for training.
    """
    if matmul_s:
        result.measured("matmul_share_percent", matmul_s / latency_ms * 1e5)
    result.missing(
        "matmul_share_percent",
        "the step has no matmul, convolution or attention that torch can count",
    )
    if copy_s is not None:
        result.measured("bandwidth_share_percent", copy_s / latency_ms * 1e5)
    result.missing("bandwidth_share_percent", "the least traffic of a training step is not known")


def no_shares(result: Result, reason: str) -> None:
    """Why the shares of the ceilings are not there."""
    for key in ("matmul_share_percent", "bandwidth_share_percent"):
        result.missing(key, reason)


def percentiles(
    result: Result, arm: str, paired: Samples, single: Samples, measure: Measure
) -> None:
    """p90 and p99 from steps that were timed one by one; samples of one step count as such."""
    from benchmarks_suite.harness.timing import MIN_P90, MIN_P99

    if single.ms:
        result.samples[f"{arm}_single"] = single.document()
    steps = single.ms + (paired.ms if paired.inner == 1 else [])
    for key, share, least in (("latency_p90_ms", 0.90, MIN_P90), ("latency_p99_ms", 0.99, MIN_P99)):
        if len(steps) >= least:
            _measured(result, key, statistics.percentile_interval(steps, share))
        else:
            result.missing(
                key,
                f"needs {least} steps timed one by one; there are {len(steps)}"
                f" (single_steps {measure.single_steps}, budget_s {measure.budget_s:g})",
            )


def interference(result: Result, watch: Watch) -> None:
    """Marks, and what the GPU told while sampling."""
    for kind, detail in watch.marks():
        result.mark(kind, detail)
    for key, value in watch.gpu_metrics().items():
        result.measured(key, value)


def conclude(job: Job, result: Result) -> None:
    """What follows from several stages, and the reason for every metric that is not there."""
    eager, own = (result.metrics.get(key) for key in ("eager_peak_memory_gb", "peak_memory_gb"))
    if eager and own and own["value"] > 0:
        result.measured("compression_ratio", eager["value"] / own["value"])
    if (
        "unique_graphs" in result.metrics
        and not result.metrics["unique_graphs"]["value"]
        and job.config.target in COMPILED_BY_DYNAMO
    ):
        result.message = result.message or NOTHING_COMPILED
    unjudged = (
        result.sections.get("accuracy", {}).get("status") == "no_reference"
        and result.status == "pass"
    )
    if unjudged:
        result.message = (
            f"Measured, but accuracy was not judged: {result.sections['accuracy']['reference']}"
        )
    elif result.status != "unsupported":
        result.measured("passed", 1.0 if result.status == "pass" else 0.0)
    for key, reason in _reasons(job, result).items():
        result.missing(key, reason)


def _reasons(job: Job, result: Result) -> dict[str, str]:
    """Why each metric would not be there: the most particular reason wins."""
    ended = f"the case ended {result.status} in stage {result.stage}: {result.message}"
    keys = (*_OF_EVERY_CASE, *_OF_BOTH_ARMS, *_OF_TRAINING, *_OF_COMPILING)
    reasons = dict.fromkeys(
        keys, ended if result.status != "pass" else "not measured for this case"
    )
    for kind, made in _OF_A_START.items():
        if kind not in job.measure.starts:
            reasons |= dict.fromkeys(made, f"no {kind} start was asked for (measure.starts)")
    if job.benchmark.mode != "training":
        reasons |= dict.fromkeys(_OF_TRAINING, "only training has gradients and a loss")
    if not job.config.compiles:
        of_eager = "this case is eager itself: nothing is compiled or compared"
        reasons |= dict.fromkeys((*_OF_BOTH_ARMS, *_OF_TRAINING, *_OF_COMPILING), of_eager)
    return reasons


def _measured(result: Result, key: str, interval: statistics.Interval) -> None:
    result.measured(key, interval.value, interval.low, interval.high, interval.n)
