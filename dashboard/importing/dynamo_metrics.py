"""What PyTorch's benchmarks/dynamo runners call their numbers, and which of ours they are.

abs_latency: milliseconds of the compiled model. compilation_latency: seconds of the first five compiled runs less those
of five eager ones: nearest to our cold start, though not the same. Peak memory in GB.
"""

from dashboard.importing.form import Metric

METRICS_OF = {
    "abs_latency": "latency_ms",
    "speedup": "speedup",
    "compilation_latency": "cold_start_s",
    "compression_ratio": "compression_ratio",
    "eager_peak_mem": "eager_peak_memory_gb",
    "dynamo_peak_mem": "peak_memory_gb",
    "unique_graphs": "unique_graphs",
    "graph_breaks": "graph_breaks",
}
FAILED = "0"  # what the runners write for a model that failed
POSITIVE = ("latency_ms", "speedup", "compression_ratio")


def metric(name: str, value: float) -> tuple[str, Metric] | None:
    """Our key and the value; None for what this site has no metric for, and for the zero that stands for a failure."""
    key = METRICS_OF.get(name)
    if key is None or (key in POSITIVE and value <= 0):
        return None
    return key, Metric(value, n=1)
