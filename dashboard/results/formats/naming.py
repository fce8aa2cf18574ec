"""Names that other tools give their numbers, and our metrics for them.

Of PyTorch's benchmarks/dynamo runners: abs_latency is milliseconds of the compiled model;
compilation_latency is seconds of the first five compiled runs less those of five eager ones:
nearest to our cold start, though not the same. Peak memory is in GB; on a CPU the runners write
percent times the machine's memory. No other name is guessed at: "latency" is milliseconds to one
tool, and microseconds or seconds to another.
"""

from dashboard.catalog.core.plan import require_known
from dashboard.language.metrics import METRICS
from dashboard.results.formats.fields import Malformed, quantity
from dashboard.results.formats.mapping import Rule

# A zero is what the runners write for a model that failed, and for what they did not measure
POSITIVE = ("latency_ms", "speedup", "compression_ratio")
ON_GPU = {"kind": "gpu"}
RUNNER_RULES = (
    *(Rule(key, key, unmeasured="0" if key in POSITIVE else "") for key in METRICS),
    Rule("abs_latency", "latency_ms", unmeasured="0"),
    Rule("compilation_latency", "cold_start_s", unmeasured="<= 0"),
    Rule("eager_peak_mem", "eager_peak_memory_gb", unmeasured="0", only=ON_GPU),
    Rule("dynamo_peak_mem", "peak_memory_gb", unmeasured="0", only=ON_GPU),
)


def parse_metric_mapping(text: str) -> tuple[str, tuple[str, float]]:
    """A metric as a person names it, THEIRS=OURS or THEIRS=OURS*FACTOR. Raises ValueError."""
    theirs, equals, ours = text.rpartition("=")
    key, _, factor = (part.strip() for part in ours.partition("*"))
    if not (equals and theirs.strip()):
        raise ValueError(f"{text!r}: write THEIRS=OURS, as 'Fwd Time (us)=latency_ms*0.001'")
    require_known("metric", [key], list(METRICS))
    try:
        number = quantity(factor.strip() or 1, "the factor")
    except Malformed:
        number = 0.0
    if not number:
        why = f"{text!r}: {factor!r} is not a factor; their number times it is ours"
        raise ValueError(why)
    return theirs.strip(), (key, number)
