"""Names that other tools give their numbers, and our metrics for them.

Looked up in this order: what the person who imports says, the names of PyTorch's benchmarks/dynamo
runners, our own keys. Of the runners' names:

abs_latency: milliseconds of the compiled model. compilation_latency: seconds of the first five
compiled runs less those of five eager ones: nearest to our cold start, though not the same. Peak
memory is in GB. No other name is guessed at: "latency" is milliseconds to one tool, and
microseconds or seconds to another.
"""

from dashboard.catalog.core.plan import require_known
from dashboard.language.metrics import METRICS
from dashboard.results.formats.common import Hints, MetricValue
from dashboard.results.formats.fields import quantity

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
# A zero is what the runners write for a model that failed, and for what they did not measure
POSITIVE = ("latency_ms", "speedup", "compression_ratio")
MEMORY = ("eager_peak_mem", "dynamo_peak_mem")


def our_metric(
    name: str, value: float, hints: Hints, count: int = 1, *, on_cpu: bool = False
) -> tuple[str, MetricValue] | None:
    """Our key and the value in our unit.

    None for what this site has no metric for, for the zero of what was not measured, for the
    difference that compilation_latency is where it is not above 0, and for memory on a CPU: there
    the runners write percent times the machine's memory. Raises Malformed: a negative number.
    """
    key, factor = hints.metric_of(name) or (METRICS_OF.get(name, name), 1.0)
    is_zero = value == 0 and (key in POSITIVE or name in MEMORY)
    is_difference = name == "compilation_latency" and value <= 0
    if key not in METRICS or is_zero or is_difference or (on_cpu and name in MEMORY):
        return None
    return key, MetricValue(quantity(value, name, factor), n=count)


def parse_metric_mapping(text: str) -> tuple[str, tuple[str, float]]:
    """A metric as a person names it, THEIRS=OURS or THEIRS=OURS*FACTOR. Raises ValueError."""
    theirs, equals, ours = text.rpartition("=")
    key, _, factor = (part.strip() for part in ours.partition("*"))
    if not (equals and theirs.strip()):
        raise ValueError(f"{text!r}: write THEIRS=OURS, as 'Fwd Time (us)=latency_ms*0.001'")
    require_known("metric", [key], list(METRICS))
    try:
        return theirs.strip(), (key, float(factor or 1))
    except ValueError:
        why = f"{text!r}: {factor!r} is not a factor; their number times it is ours"
        raise ValueError(why) from None
