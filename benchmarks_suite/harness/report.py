"""From what was measured to metrics, sections and reasons of absence.

Keys are those of dashboard/language/metrics.py.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from benchmarks_suite.harness import (
    absence,
    diagnostic_start,
    report_compiler,
    report_requested,
    startup,
    statistics,
)
from benchmarks_suite.harness.contract import Document
from benchmarks_suite.harness.job import Job, Measure
from benchmarks_suite.harness.outcome import CaseOutcome
from benchmarks_suite.harness.portable_text import whole_sentences
from benchmarks_suite.harness.result import Result

if TYPE_CHECKING:
    from benchmarks_suite.harness.accuracy import AccuracyVerdict
    from benchmarks_suite.harness.interference import Watch
    from benchmarks_suite.harness.timing import Samples, Stop

_PHASES = {  # metric -> phase of torch_versions.phases_s
    "compile_dynamo_s": "dynamo",
    "compile_aot_s": "aot",
    "compile_inductor_s": "inductor",
    "compile_triton_s": "kernels",
}
_DRIFTS = {  # metric -> tensors of accuracy.AccuracyVerdict
    "drift": "outputs",
    "drift_gradients": "gradients",
    "drift_loss": "loss",
}
_KEPT = (
    "graph_breaks",
    "phases_s",
    "counters",
    "fingerprints",
    "submodules",
    "hints",
    "cudagraph_skips",
)
_NOT_IN_STARTS = ("compile", "error", "sweep")
_TIMES = ("phases_s", "submodules")
NOT_JUDGED = ("no_reference", "not_judged")  # of accuracy, in a result that passed
NOTHING_COMPILED = "Nothing was compiled: dynamo skipped every frame, so both arms ran in eager"
NO_CALLS_OF_IT = "this torch has no such function, or Python is older than 3.11"
COMPILED_BY_DYNAMO = ("module", "blocks", "parts", "train_step")


def start(result: Result, kind: str, answer: Document) -> None:
    """One start: its own section, and the metrics that are made from it."""
    section = {key: value for key, value in answer.items() if key not in _NOT_IN_STARTS}
    result.sections.setdefault("starts", {})[kind] = section
    if kind == diagnostic_start.KIND:  # it measures nothing
        return
    if answer["status"] != "pass":
        for key in absence.OF_A_START.get(kind, ()):
            result.missing(key, f"the {kind} start ended {answer['status']}: {answer['message']}")
        return
    if kind == "cold_again":
        _same_code(result, answer["compile"]["fingerprints"])
    elif kind == "ahead":  # next to other cases, so that no time means anything
        _memory(result, answer)
        facts = {key: value for key, value in answer["compile"].items() if key not in _TIMES}
        compiler_facts(result, facts)
    elif kind == "counted":
        result.measured("compile_calls", answer["calls"])
        for key in absence.COUNTS_OF_CALLS:
            _measured_or_missing(result, key, answer[key], NO_CALLS_OF_IT)
    elif kind in startup.KINDS:
        result.measured(f"{kind}_s", answer["first_result_s"])
    else:
        result.measured(f"{kind}_start_s", answer["first_step_s"])
    if kind == "cold":
        _cold(result, answer)
    if kind == "warm":
        hits = answer["compile"]["cache_hits"]
        _measured_or_missing(result, "cache_hits", hits, "torch counts them since 2.2")


def _measured_or_missing(result: Result, key: str, value: float | None, why_not: str) -> None:
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
            f"two cold starts of this job generated different code ({', '.join(different)}): "
            "a difference from another build's says nothing",
        )


def _cold(result: Result, answer: Document) -> None:
    result.measured("steady_after_s", answer["steady_after_s"])
    result.measured("compile_cpu_s", answer["cpu_s"])
    facts = answer["compile"]
    for key, phase in _PHASES.items():
        result.measured(key, facts["phases_s"][phase])
    _memory(result, answer)
    compiler_facts(result, facts)
    if "sweep" in answer:
        report_requested.sweep(result, answer["sweep"])
    if answer.get("artifact_bytes"):
        result.measured("artifact_size_mb", answer["artifact_bytes"] / 1e6)


def _memory(result: Result, answer: Document) -> None:
    for key, peak in (("peak_memory_gb", "peak_gb"), ("compile_peak_memory_gb", "compile_peak_gb")):
        _peak(result, key, answer[peak], answer["why_no_memory"])
    for key, value_gb in answer["beside_peak_gb"].items():
        result.measured(key, value_gb)


def _peak(result: Result, key: str, peak_gb: float, why_absent: str) -> None:
    if why_missing := why_absent or absence.why_no_peak(peak_gb):
        result.missing(key, why_missing)
    else:
        result.measured(key, peak_gb)


def compiler_facts(result: Result, facts: Document) -> None:
    """The ``compile`` section, and the counts made from it."""
    # Places; a recompile comes by each of them again
    result.measured("graph_breaks", len(facts["graph_breaks"]))
    result.measured("unique_graphs", facts["counters"].get("stats.unique_graphs", 0))
    recompiles = facts["recompiles"]
    count = None if recompiles is None else len(recompiles)
    _measured_or_missing(result, "recompiles", count, "torch reports recompilations since 2.3")
    for key, counted in facts.get("counts", {}).items():
        _measured_or_missing(result, key, counted, "this torch, or this backend, does not count it")
    code_bytes = facts.get("code_bytes")
    code_kb = None if code_bytes is None else code_bytes / 1e3
    _measured_or_missing(result, "generated_code_kb", code_kb, "the compiler wrote no code")
    report_compiler.not_done(result, facts)
    section = {key: facts[key] for key in _KEPT if key in facts}
    section["recompiles"] = (recompiles or [])[:1000]
    result.sections["compile"] = section


def eager_memory(job: Job, result: Result, peak_gb: float, why_absent: str) -> None:
    """Eager's peak: the case's own where the config is eager, else next to it."""
    key = "eager_peak_memory_gb" if job.config.compares else "peak_memory_gb"
    _peak(result, key, peak_gb, why_absent)


def two_runs(result: Result, difference: str) -> None:
    """Fail a case whose two eager runs from one state differ."""
    if difference:
        message = (
            "Two eager runs from the same state differ, so drift cannot be judged: "
            f"{difference}. Make the model deterministic."
        )
        result.failed(CaseOutcome("eager_two_runs_differ", message))


def no_reference(result: Result, reason: str) -> None:
    """Accuracy cannot be checked: the verdict says so, and the document has no `passed`."""
    result.sections["accuracy"] = {
        "status": "no_reference",
        "reference": whole_sentences(reason, 200),
        "tensors": {},
    }
    for key in ("drift", "eager_drift", "outputs_wrong", *absence.OF_TRAINING, "passed"):
        result.missing(key, f"no reference: {reason}")


def verdict(result: Result, verdict: AccuracyVerdict, reference: str, training: bool) -> None:
    """Drift of the compiled arm, eager's next to it, and the status that follows."""
    from benchmarks_suite.harness import accuracy, tolerances

    wrong = [name[:200] for name, is_right in verdict.outputs.items() if not is_right]
    status = "fail" if verdict.failures else "not_judged" if verdict.unjudged else "pass"
    if result.status != "pass":
        status = "not_checked"
    result.sections["accuracy"] = {
        "status": status,
        "reference": f"{reference}, eager, same weights and inputs, dropout 0",
        "rule": tolerances.RULE,
        "tensors": {name: _finite(values) for name, values in verdict.tensors.items()},
        "matmul_precision": accuracy.matmul_precision(),
        "outputs": len(verdict.outputs),
        "wrong_outputs": wrong[:100],
    }
    if verdict.unjudged:
        result.sections["accuracy"]["unjudged"] = [each[:200] for each in verdict.unjudged[:20]]
    unjudged = "; ".join(verdict.unjudged)
    why_not = unjudged or "the whole step is one function: it cannot be seen apart"
    if verdict.outputs:
        result.measured("outputs_wrong", len(wrong))
    else:
        result.missing("outputs_wrong", why_not)
    for key, name in _DRIFTS.items():
        values = verdict.tensors.get(name, {})
        if "share_unequal" in values:
            result.missing(key, "an output of integers has no distance: see outputs_wrong")
        if "relative_l2" not in values:
            has_one = training or name == "outputs"
            result.missing(key, why_not if has_one else "only training has one")
            continue
        result.measured(key, values["relative_l2"])
        if values["eager_relative_l2"] is not None:
            result.measured(f"eager_{key}", values["eager_relative_l2"])
    if verdict.failures:
        message = (
            f"The compiled result is further from {reference} than allowed: "
            f"{'; '.join(verdict.failures)}"
        )
        result.failed(CaseOutcome("fail_accuracy", message))


def _finite(values: Document) -> Document:
    """The same with None where a number is not finite, which JSON does not have."""
    finite = dict(values)
    for key, value in values.items():
        if isinstance(value, float) and not math.isfinite(value):
            finite[key] = None
    return finite


def sampling(
    job: Job, result: Result, samples: dict[str, Samples], stop: Stop, items_per_step: float
) -> None:
    """Latency, throughput, speedup and break-even, with their intervals."""
    from benchmarks_suite.harness import timing

    for name, of_arm in samples.items():
        result.samples[name] = of_arm.document()
    result.sections["sampling"] = stop.document()
    own = samples.get("compiled") or samples["eager"]
    latency = statistics.median_interval(own.ms)
    _measured(result, "latency_ms", latency)
    throughput = statistics.mapped(latency, lambda ms: items_per_step / ms * 1000)
    _measured(result, "throughput_per_s", throughput)
    if len(samples) < 2:
        if job.config.compares:
            for key in ("speedup", "eager_latency_ms", "break_even_steps"):
                result.missing(key, f"there is no eager arm: {result.arms['eager']['message']}")
        return
    eager, compiled = samples["eager"], samples["compiled"]
    _measured(result, "eager_latency_ms", statistics.median_interval(eager.ms))
    _measured(result, "speedup", timing.speedup(eager, compiled))
    if "cold_start_s" not in result.metrics:
        return
    cold_start_s = result.metrics["cold_start_s"]["value"]
    saved_ms = timing.saved_ms(eager, compiled)
    steps = statistics.break_even(cold_start_s, latency.value, saved_ms)
    if steps is None:
        result.missing(
            "break_even_steps", "never: the compiled step is not faster than the eager one"
        )
    else:
        _measured(result, "break_even_steps", steps)


def ceilings(
    result: Result, matmul_tflops: statistics.Interval, copy_gb_s: statistics.Interval
) -> None:
    """Report what the machine itself can do, measured by benchmarks of the family ``machine``."""
    _measured(result, "matmul_ceiling_tflops", matmul_tflops)
    _measured(result, "bandwidth_ceiling_gb_s", copy_gb_s)


def shares(result: Result, latency_ms: float, matmul_s: float, copy_s: float | None) -> None:
    """Share of the ceilings: a step's time at the machine's own rates / the time that it took.

    matmul_s: its operations at the matmul rate.
    copy_s: its least traffic at the copy bandwidth; None for training.
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
    """Report why the shares of the ceilings are missing."""
    for key in ("matmul_share_percent", "bandwidth_share_percent"):
        result.missing(key, reason)


def percentiles(
    result: Result, arm: str, paired: Samples, single: Samples, measure: Measure
) -> None:
    """p90 and p99 from steps that were timed one by one; samples of one step count as such."""
    from benchmarks_suite.harness.timing import MIN_P90, MIN_P99

    if single.ms:
        result.samples[f"{arm}_single"] = single.document()
    steps = list(single.ms)
    if paired.inner == 1:
        steps += paired.ms
    for key, share, least in (("latency_p90_ms", 0.90, MIN_P90), ("latency_p99_ms", 0.99, MIN_P99)):
        if len(steps) >= least:
            _measured(result, key, statistics.percentile_interval(steps, share))
        else:
            limits = f"single_steps {measure.single_steps}, budget_s {measure.budget_s:g}"
            result.missing(
                key, f"needs {least} steps timed one by one; there are {len(steps)} ({limits})"
            )


def interference(result: Result, watch: Watch) -> None:
    """Marks, and what the GPU reported while sampling."""
    for kind, detail in watch.marks():
        result.mark(kind, detail)
    for key, value in watch.gpu_metrics().items():
        result.measured(key, value)


def conclude(job: Job, result: Result) -> None:
    """Add what follows from several stages, and the reason for every metric that is missing."""
    metrics = result.metrics
    eager, own = metrics.get("eager_peak_memory_gb"), metrics.get("peak_memory_gb")
    if eager and own and own["value"] > 0 and absence.has_compression_ratio(job):
        result.measured("compression_ratio", eager["value"] / own["value"])
    graphs = metrics.get("unique_graphs")
    if graphs and not graphs["value"] and job.config.target in COMPILED_BY_DYNAMO:
        result.message = result.message or NOTHING_COMPILED
    accuracy = result.sections.get("accuracy", {})
    if result.status == "pass" and accuracy.get("status") in NOT_JUDGED:
        why = "; ".join(accuracy.get("unjudged", ())) or accuracy["reference"]
        result.message = f"Measured, but accuracy was not judged: {why}"
    elif result.status != "unsupported":
        result.measured("passed", 1.0 if result.status == "pass" else 0.0)
    for key, reason in absence.reasons(job, result).items():
        result.missing(key, reason)


def _measured(result: Result, key: str, interval: statistics.Interval) -> None:
    result.measured(key, interval.value, interval.low, interval.high, interval.n)
