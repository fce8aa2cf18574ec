"""Reasons for missing metrics: the metrics that each part of a job makes, and why one is absent."""

from benchmarks_suite.harness.job import Job
from benchmarks_suite.harness.result import Result

_OF_EVERY_CASE = (
    "latency_ms",
    "latency_p90_ms",
    "latency_p99_ms",
    "throughput_per_s",
    "peak_memory_gb",
    "device_ms",
    "kernels",
    "host_ms",
    "device_share_percent",
    "memory_growth_mb",
)
_OF_BOTH_ARMS = (
    "speedup",
    "eager_latency_ms",
    "break_even_steps",
    "eager_peak_memory_gb",
    "compression_ratio",
    "drift",
    "eager_drift",
    "outputs_wrong",
    "device_speedup",
    "eager_device_ms",
)
_OF_A_PROFILE = (
    "device_ms",
    "kernels",
    "device_share_percent",
    "device_speedup",
    "eager_device_ms",
)
# What surrounds the graphs: compiled_calls.py
_OF_CALLS = ("overhead_us", "compiled_ops_percent")
_OF_SAMPLES = (
    "latency_ms",
    "latency_p90_ms",
    "latency_p99_ms",
    "throughput_per_s",
    "host_ms",
    "speedup",
    "eager_latency_ms",
    "break_even_steps",
    *_OF_A_PROFILE,
    *_OF_CALLS,
)
OF_TRAINING = ("drift_gradients", "eager_drift_gradients", "drift_loss", "eager_drift_loss")
# What the compiler counted, and what the counted start makes of its calls: compiler_counts.py
COUNTS = (
    "guards",
    "captured_ops",
    "ir_nodes",
    "generated_kernels",
    "cudagraph_skips",
    "generated_code_kb",
)
COUNTS_OF_CALLS = ("fusions", "eager_fallbacks")
OF_A_START = {
    "cold": (
        "cold_start_s",
        "steady_after_s",
        "compile_cpu_s",
        "break_even_steps",
        "compile_dynamo_s",
        "compile_aot_s",
        "compile_inductor_s",
        "compile_triton_s",
        "toolchain_s",
        "graph_breaks",
        "unique_graphs",
        "recompiles",
        "peak_memory_gb",
        "compile_peak_memory_gb",
        "reserved_memory_gb",
        "host_memory_gb",
        "compression_ratio",
        *COUNTS,
    ),
    "warm": ("warm_start_s", "cache_hits", "cached_step_ratio"),
    "restored": ("restored_start_s", "artifact_size_mb"),
    "counted": ("compile_calls", *COUNTS_OF_CALLS),
    "startup_cold": ("startup_cold_s",),
    "startup_warm": ("startup_warm_s",),
}
_OF_A_SWEEP = ("sweep_recompiles", "sweep_recompile_s", "sweep_slow_percent")
_OF_STARTS = tuple(key for made in OF_A_START.values() for key in made)
_OF_COMPILING = tuple(key for key in _OF_STARTS if key != "peak_memory_gb")


def has_compression_ratio(job: Job) -> bool:
    """Test whether the ratio of the peaks says something about the model."""
    return job.on_gpu and job.benchmark.size != "smoke"


def why_no_peak(peak_gb: float) -> str:
    """Return why that cannot be an arm's peak memory; empty where it can.

    On a CPU the process can give back, or swap out, more than a small model takes.
    """
    if peak_gb > 0:
        return ""
    return (
        f"came out as {peak_gb:.4f} GB: of what the process held before, it gave back more than "
        "the arm took"
    )


def reasons(job: Job, result: Result) -> dict[str, str]:
    """Return why each metric would be missing: the most particular reason wins."""
    of_any = "not measured for this case"
    if job.measure.accuracy_only:
        of_any = "accuracy alone was asked for (measure.accuracy_only)"
    if result.status != "pass":
        of_any = f"the case ended {result.status} in stage {result.stage}: {result.message}"
    keys = (*_OF_EVERY_CASE, *_OF_BOTH_ARMS, *_OF_CALLS, *OF_TRAINING, *_OF_COMPILING)
    by_metric = dict.fromkeys(keys, of_any)
    if not job.measure.profile_steps:
        of_profile = "no profile was asked for (measure.profile_steps)"
        by_metric |= dict.fromkeys((*_OF_A_PROFILE, *_OF_CALLS), of_profile)
    if not job.measure.soak_steps:
        by_metric["memory_growth_mb"] = "no soak was asked for (measure.soak_steps)"
    if job.config.sweep:
        by_metric |= _reasons_of_a_sweep(job, result, of_any)
    for kind, made in OF_A_START.items():
        if kind not in job.measure.starts:
            by_metric |= dict.fromkeys(made, f"no {kind} start was asked for (measure.starts)")
    if not has_compression_ratio(job):
        of_memory = "on a CPU and at smoke size the compiler's own objects outweigh the model's"
        by_metric["compression_ratio"] = of_memory
    if not job.on_gpu:
        of_process = "on a CPU the peak is that of the process itself"
        by_metric |= dict.fromkeys(("reserved_memory_gb", "host_memory_gb"), of_process)
    if job.benchmark.mode != "training":
        by_metric |= dict.fromkeys(OF_TRAINING, "only training has gradients and a loss")
    if not job.config.compiles:
        by_metric |= dict.fromkeys((*_OF_CALLS, *_OF_COMPILING), "nothing is compiled")
        by_metric["peak_memory_gb"] = (
            "measured in a start, and a case that does not compile has none"
        )
    if not job.config.compares:
        of_eager = "this case is eager itself: nothing is compared"
        by_metric |= dict.fromkeys((*_OF_BOTH_ARMS, *OF_TRAINING), of_eager)
    return by_metric


def _reasons_of_a_sweep(job: Job, result: Result, of_any: str) -> dict[str, str]:
    of_samples = of_walk = of_any
    if result.status == "pass":
        of_samples = "a walk through shapes samples nothing: the same config without one does"
    if "cold" not in job.measure.starts:
        of_walk = "the walk is the cold start's, and none was asked for (measure.starts)"
    return dict.fromkeys(_OF_SAMPLES, of_samples) | dict.fromkeys(_OF_A_SWEEP, of_walk)
