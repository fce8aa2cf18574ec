"""Every metric, one row each: the single place that knows a metric's name, unit and direction.

The suite writes metrics under these keys (see benchmarks_suite/schema/result.v1.json); the site
shows, charts and judges them by these rows. To add a metric, add a row here and write the key in
the suite: docs/add-a-metric.md.
"""

from dataclasses import dataclass
from typing import Literal

Aggregate = Literal["geomean", "median", "sum", "share"]

STATUS_METRIC = "passed"  # every job that ended has this datum, whatever its status
TOOLCHAIN = "toolchain_s"  # measured once for a build and a machine: its results repeat one value
# Numbers of other tools that are none of ours, by their direction
HIGHER, LOWER = "higher_value", "lower_value"
EAGER = "eager"  # the config that every other one is compared with
COMPILE_CALLS = "compile_calls"
# Measured to learn something (does it compile again? break the graph? what do other shapes cost?):
# nobody would run a model this way to save time
CHECK_CONFIGS = frozenset(
    {
        "inductor_fullgraph",
        "inductor_fail_on_recompile",
        "inductor_disabled_block",
        "inductor_sweep",
        "inductor_dynamic_sweep",
    }
)
Start = Literal["cold", "warm", "restored"]
# The metric of each way to start a process
STARTS: dict[Start, str] = {
    "cold": "cold_start_s",
    "warm": "warm_start_s",
    "restored": "restored_start_s",
}
# Starts that begin with the interpreter, not with compiling
STARTUPS = ("startup_cold", "startup_warm")


@dataclass(frozen=True, slots=True)
class Metric:
    """One thing that is measured.

    key: its name in result files, URLs and the database; the unit is its suffix.
    unit: as printed after a number; empty for ratios and counts.
    lower_is_better: the direction of "faster, lighter, more exact".
    threshold_percent: the smallest change worth telling by default.
    aggregate: how values of several cases make one.
    alerts: judged by detection; what is derived from another metric is not.
    about: one sentence for the glossary and for hover.
    least: the smallest change worth telling in the metric's own unit, where that is more than the
        threshold.
    hurts_percent: a change in which severity is measured; 0: the threshold. A metric that repeats
        well has a small threshold, but a change of it hurts no more than the same change of the
        time that it is part of.
    """

    key: str
    label: str
    unit: str
    lower_is_better: bool
    threshold_percent: float = 2.0
    aggregate: Aggregate = "geomean"
    alerts: bool = False
    about: str = ""
    least: float = 0.0
    hurts_percent: float = 0.0

    @property
    def severity_percent(self) -> float:
        return self.hurts_percent or self.threshold_percent


def is_artefact(metric: str, device: str, size: str) -> bool:
    """Test whether the number says nothing of the model: the suite omits it, old results have it.

    On a CPU and at smoke size the compiler's own objects take more memory than the model.
    """
    return metric == "compression_ratio" and (device == "cpu" or size == "smoke")


def is_grain(metric: Metric, least: float) -> bool:
    """Test whether memory is too little to say anything: a few kB drown in the process's own, and
    come out below zero as well. least: the smallest of the values.
    """
    return metric.unit == "GB" and least <= 0


def comparable_metrics(*devices: str) -> list[Metric]:
    """List the metrics in which builds measured on such kinds of devices can be compared."""
    metrics = []
    for metric in METRICS.values():
        if metric.key in {STATUS_METRIC, TOOLCHAIN}:
            continue
        if not any(is_artefact(metric.key, device, "standard") for device in devices):
            metrics.append(metric)
    return metrics


# fmt: off
METRICS: dict[str, Metric] = {
    metric.key: metric
    for metric in (
        # key, label, unit, lower_is_better, threshold_percent, aggregate, alerts, about
        Metric("latency_ms", "Latency", "ms", True, 2, "geomean", True, "Median time of one step in this config."),
        Metric("latency_p90_ms", "Latency p90", "ms", True, 5, "geomean", False, "Nine of ten single steps were at most this long."),
        Metric("latency_p99_ms", "Latency p99", "ms", True, 10, "geomean", False, "99 of 100 single steps were at most this long."),
        Metric("throughput_per_s", "Throughput", "/s", False, 2, "geomean", False, "Tokens, images or samples per second at the median latency."),
        Metric("speedup", "Speedup", "×", False, 2, "geomean", False, "Eager latency / compiled latency, paired within one process."),
        Metric("eager_latency_ms", "Eager control", "ms", True, 2, "geomean", False, "Median eager step, interleaved in the same process: the control."),
        Metric("device_ms", "Device time", "ms", True, 1, "geomean", True, "How long the device worked in a step. GPU: at least one kernel or copy ran, in one profiled pass; CPU: the process's CPU time.", hurts_percent=2),  # as latency
        Metric("eager_device_ms", "Eager device time", "ms", True, 1, "geomean", False, "The same for eager, in the same process: the control."),
        Metric("device_speedup", "Device speedup", "×", False, 1, "geomean", False, "Eager device time / compiled device time."),
        Metric("device_share_percent", "Device share", "%", False, 5, "median", False, "Device time / latency: near 100 the GPU is the bottleneck, far below it the host that launches its kernels."),
        Metric("host_ms", "Host time", "ms", True, 10, "geomean", False, "Median time until a step's last launch has returned, without waiting for the GPU. Each step is timed alone, from an idle GPU: it can be above the latency."),
        Metric("kernels", "Kernels", "", True, 2, "median", False, "Kernels and copies that a step runs on the GPU."),
        Metric("cold_start_s", "Cold start", "s", True, 10, "geomean", True, "First compiled step in a new process with empty caches, without what comes before it: imports, building the model, the toolchain's one-time checks."),
        Metric("warm_start_s", "Warm start", "s", True, 10, "geomean", True, "First compiled step in a new process with the caches kept."),
        Metric("restored_start_s", "Restored start", "s", True, 10, "geomean", True, "First compiled step with only the saved cache artifacts restored."),
        Metric("startup_cold_s", "Cold startup", "s", True, 10, "geomean", True, "What users of a server wait for on a new machine: from the start of the process to its first compiled result, imports, model, toolchain checks and compilation included."),
        Metric("startup_warm_s", "Warm startup", "s", True, 10, "geomean", True, "The same with the caches kept, as when a server is started again."),
        Metric("steady_after_s", "Time until steady", "s", True, 10, "geomean", False, "From the first compiled call until steps are as fast as later ones."),
        Metric("compile_cpu_s", "Compile CPU time", "s", True, 10, "geomean", False, "CPU seconds of the cold first step, children included."),
        Metric("compile_dynamo_s", "Dynamo", "s", True, 10, "median", False, "Tracing Python into graphs, in the cold start."),
        Metric("compile_aot_s", "AOTAutograd", "s", True, 10, "median", False, "Making forward and backward graphs, in the cold start."),
        Metric("compile_inductor_s", "Inductor", "s", True, 10, "median", False, "Lowering, scheduling and code generation, in the cold start."),
        Metric("compile_triton_s", "Kernel compile", "s", True, 10, "median", False, "Triton or C++ kernels, in the cold start."),
        Metric("toolchain_s", "Toolchain checks", "s", True, 20, "median", False, "What the first compilation of a build on a machine takes beyond any model: checks of the C++ compiler and, on a GPU, Triton's launcher. Measured once; every result repeats it, and the cold start is without it."),
        Metric("artifact_size_mb", "Cache artifacts", "MB", True, 10, "geomean", False, "Size of what save_cache_artifacts returns."),
        Metric("break_even_steps", "Break-even", "steps", True, 10, "median", False, "Steps after which the cold start is paid back."),
        Metric("peak_memory_gb", "Peak memory", "GB", True, 2, "geomean", True, "Steady peak memory of this config alone.", least=0.002),  # on a CPU the allocator takes and gives back a megabyte at a time
        Metric("eager_peak_memory_gb", "Eager peak memory", "GB", True, 2, "geomean", False, "Steady peak memory of the eager arm alone."),
        Metric("compile_peak_memory_gb", "Compile peak memory", "GB", True, 5, "geomean", False, "Peak memory while compiling."),
        Metric("reserved_memory_gb", "Reserved memory", "GB", True, 5, "geomean", False, "What PyTorch's allocator had taken from the GPU at its peak; much more than the peak memory is fragmentation."),
        Metric("host_memory_gb", "Host memory", "GB", True, 5, "geomean", False, "Peak resident memory of the process beside the GPU's, imports included."),
        Metric("memory_growth_mb", "Memory growth per 100 steps", "MB", True, 10, "median", False, "In a soak of some hundred steps: how much more memory is in use after 100 more steps. GPU: of tensors; CPU: of the process. No growth is shown unless the interval lies above 0."),
        Metric("compression_ratio", "Compression ratio", "×", False, 2, "geomean", False, "Eager peak memory / compiled peak memory, on a GPU."),
        Metric("graph_breaks", "Graph breaks", "", True, 0, "sum", True, "Places where dynamo had to fall back to Python."),
        Metric("compiled_ops_percent", "Compiled operators", "%", False, 1, "median", True, "Share of the operators of an eager forward pass that no longer run in eager, outside of graphs."),
        Metric("unique_graphs", "Unique graphs", "", True, 0, "sum", False, "Graphs that dynamo compiled."),
        Metric("recompiles", "Recompiles", "", True, 0, "sum", True, "Compilations after a guard failed."),
        Metric("sweep_recompiles", "Sweep recompiles", "", True, 0, "sum", False, "Compilations after a guard failed, in a walk through shapes, without those at the first shape."),
        Metric("sweep_recompile_s", "Time lost in recompiles", "s", True, 10, "median", True, "What slow steps took longer than later steps at the same shape, over all shapes of a walk at which something was compiled; without the first."),
        Metric("sweep_slow_percent", "Slow steps in a sweep", "%", True, 20, "median", False, "Share of the steps of a walk through shapes (ten at each) that took more than three times the median of later steps at the same shape; without the very first step."),
        Metric("cache_hits", "Cache hits", "", False, 0, "sum", False, "FX graph and AOTAutograd cache hits of the warm start."),
        Metric("cached_step_ratio", "Step after a cached compile", "×", True, 10, "geomean", True, "Median step in the warm start's process / in the cold start's: 1 where code from the caches is as fast as code just compiled."),
        Metric("overhead_us", "Call overhead", "µs", True, 20, "median", True, "Host time per step from calling compiled code until its graphs run: wrapper, cache look-up with all guards, bytecode before the graph.", least=5),
        Metric("compile_calls", "Compile calls", "", True, 1, "geomean", True, "Python calls of a cold first step, counted in a start of their own: compile work that does not depend on what else the machine does.", hurts_percent=10),  # as the cold start
        Metric("guards", "Guards", "", True, 0, "sum", False, "Conditions that dynamo checks before it runs a compiled graph, over all graphs."),
        Metric("captured_ops", "Captured operators", "", True, 0, "sum", False, "Operators in the graphs that dynamo traced, before any pass."),
        Metric("ir_nodes", "Inductor nodes", "", True, 0, "sum", False, "Nodes that Inductor's scheduler gets after all graph passes, before fusion."),
        Metric("fusions", "Fusions", "", False, 0, "sum", False, "How often Inductor's scheduler fused two nodes."),
        Metric("generated_kernels", "Generated kernels", "", True, 0, "sum", False, "Kernels that Inductor generated, by its own count."),
        Metric("generated_code_kb", "Generated code", "kB", True, 1, "geomean", False, "Size of the generated wrapper and kernel sources, without comments, paths and hashes."),
        Metric("eager_fallbacks", "Eager fallbacks", "", True, 0, "sum", False, "Operators of the graphs that Inductor leaves to eager's kernels."),
        Metric("cudagraph_skips", "CUDA graph skips", "", True, 0, "sum", False, "How often Inductor was asked for CUDA graphs and recorded none; the result has the reasons."),
        Metric("drift", "Drift", "", True, 20, "geomean", True, "Relative L2 distance of the output from the fp64 reference. Training is checked without dropout."),
        Metric("eager_drift", "Eager drift", "", True, 20, "geomean", False, "The same distance for eager: what the dtype alone costs."),
        Metric("drift_gradients", "Gradient drift", "", True, 20, "geomean", True, "Relative L2 distance of the gradients after one step from fp64's, checked without dropout."),
        Metric("eager_drift_gradients", "Eager gradient drift", "", True, 20, "geomean", False, "The same distance for eager."),
        Metric("drift_loss", "Loss drift", "", True, 50, "geomean", False, "Relative distance of the loss after k steps from fp64's, checked without dropout."),
        Metric("eager_drift_loss", "Eager loss drift", "", True, 50, "geomean", False, "The same distance for eager."),
        Metric("outputs_wrong", "Wrong outputs", "", True, 0, "sum", True, "Tensors, of all that the module returns, that are further from the fp64 reference than allowed; of integers, more that differ."),
        Metric("gpu_utilization_percent", "GPU utilization", "%", False, 5, "median", False, "Share of time in which a kernel ran, by NVML."),
        Metric("gpu_power_w", "GPU power", "W", True, 5, "median", False, "Mean board power while sampling."),
        Metric("gpu_clock_mhz", "GPU clock", "MHz", False, 2, "median", False, "Median SM clock while sampling."),
        Metric("matmul_share_percent", "Share of matmul ceiling", "%", False, 2, "median", False, "Achieved FLOP/s / this machine's measured matmul rate."),
        Metric("bandwidth_share_percent", "Share of bandwidth ceiling", "%", False, 2, "median", False, "Achieved bytes/s / this machine's measured copy bandwidth."),
        Metric("matmul_ceiling_tflops", "Matmul ceiling", "TFLOP/s", False, 2, "median", False, "The machine's own matmul rate: the canary."),
        Metric("bandwidth_ceiling_gb_s", "Bandwidth ceiling", "GB/s", False, 2, "median", False, "The machine's own copy bandwidth: the canary."),
        Metric("lower_value", "Value, lower is better", "", True, 2, "geomean", True, "An imported number for which this site has no metric, and of which less is better; the benchmark's name says what it is."),
        Metric("higher_value", "Value, higher is better", "", False, 2, "geomean", True, "An imported number for which this site has no metric, and of which more is better; the benchmark's name says what it is."),
        Metric("passed", "Passed", "", False, 0, "share", True, "1 when the job ran and nothing failed, also where its accuracy was not judged; 0 when something did; no value where the case is not supported: the pass rate's source."),
    )
}
# fmt: on
