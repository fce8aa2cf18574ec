"""Why a metric is not there: the metrics that each part of a job makes, and the reason of each."""

from benchmarks_suite.harness.job import Job
from benchmarks_suite.harness.result import Result

_OF_EVERY_CASE = (
    "latency_ms",
    "latency_p90_ms",
    "latency_p99_ms",
    "throughput_per_s",
    "peak_memory_gb",
)
_OF_BOTH_ARMS = (
    "speedup",
    "eager_latency_ms",
    "break_even_steps",
    "eager_peak_memory_gb",
    "compression_ratio",
    "drift",
    "eager_drift",
)
OF_TRAINING = ("drift_gradients", "eager_drift_gradients", "drift_loss", "eager_drift_loss")
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
        "guard_overhead_us",
        "peak_memory_gb",
        "compile_peak_memory_gb",
        "compression_ratio",
    ),
    "warm": ("warm_start_s", "cache_hits"),
    "restored": ("restored_start_s", "artifact_size_mb"),
}
_OF_STARTS = (*OF_A_START["cold"], *OF_A_START["warm"], *OF_A_START["restored"])
_OF_COMPILING = tuple(key for key in _OF_STARTS if key != "peak_memory_gb")


def reasons(job: Job, result: Result) -> dict[str, str]:
    """Why each metric would not be there: the most particular reason wins."""
    of_any = "not measured for this case"
    if result.status != "pass":
        of_any = f"the case ended {result.status} in stage {result.stage}: {result.message}"
    keys = (*_OF_EVERY_CASE, *_OF_BOTH_ARMS, *OF_TRAINING, *_OF_COMPILING)
    by_metric = dict.fromkeys(keys, of_any)
    for kind, made in OF_A_START.items():
        if kind not in job.measure.starts:
            by_metric |= dict.fromkeys(made, f"no {kind} start was asked for (measure.starts)")
    if job.benchmark.mode != "training":
        by_metric |= dict.fromkeys(OF_TRAINING, "only training has gradients and a loss")
    if not job.config.compiles:
        of_eager = "this case is eager itself: nothing is compiled or compared"
        by_metric |= dict.fromkeys((*_OF_BOTH_ARMS, *OF_TRAINING, *_OF_COMPILING), of_eager)
    return by_metric
