"""Mappings of the formats that need no code. A file is of the first whose keys it has."""

from dashboard.language.metrics import METRICS
from dashboard.results.formats.mapping import Rule, Table

MACHINE = "github-actions"  # github-action-benchmark's file does not say which

# Of PyTorch's runners abs_latency is milliseconds of the compiled model; compilation_latency is
# seconds of the first five compiled runs less those of five eager ones: nearest to our cold start,
# though not the same. Memory is in GB; on a CPU it is percent times the machine's. A zero is what
# they write for a model that failed, and for what they did not measure. No other name is guessed
# at: "latency" is milliseconds to one tool, and seconds to another.
POSITIVE = ("latency_ms", "speedup", "compression_ratio")
ON_GPU = {"kind": "gpu"}
RUNNER_RULES = (
    *(Rule(key, key, unmeasured="0" if key in POSITIVE else "") for key in METRICS),
    Rule("abs_latency", "latency_ms", unmeasured="0"),
    Rule("compilation_latency", "cold_start_s", unmeasured="<= 0"),
    Rule("eager_peak_mem", "eager_peak_memory_gb", unmeasured="0", only=ON_GPU),
    Rule("dynamo_peak_mem", "peak_memory_gb", unmeasured="0", only=ON_GPU),
)

TABLES = (
    Table(
        [Rule(metric="latency_ms", unit="s", samples="stats.data")],
        {
            "tool": "pytest-benchmark",
            "name": "{fullname|name}",
            "value": "stats.median",
            "family": "{group}",
            "commit": "{commit_info.id}",
            "time": "{datetime}",
            "cpu": "{machine_info.cpu.brand_raw|machine_info.machine}",
            "cores": "{machine_info.cpu.count}",
            "python": "{machine_info.python_version}",
        },
        title="pytest-benchmark",
        needs=frozenset({"machine_info", "commit_info", "benchmarks"}),
        rows="benchmarks.[]",
    ),
    Table(
        [
            Rule(metric="latency_ms", unit="{unit}"),
            Rule(higher_is_better=True, only={"tool": "customBiggerIsBetter"}),
            Rule(only={"tool": "customSmallerIsBetter"}),
        ],
        {
            "tool": "github-action-benchmark",
            "name": "{name}",
            "family": "github-action-benchmark",
            "config": "{key1}",
            "commit": "{commit.id}",
            "time": "{date}",
            "machine": MACHINE,
        },
        title="github-action-benchmark",
        needs=frozenset({"lastUpdate", "entries"}),
        rows="entries.*.[].benches.[]",
    ),
    Table(
        [Rule(metric="latency_ms", unit="{time_unit}")],
        {
            "tool": "Google Benchmark",
            "name": "{run_name|name}",
            "value": "real_time",
            "time": "{context.date}",
            "machine": "{context.host_name}",
            "cores": "{context.num_cpus}",
            "message": "{error_message}",
        },
        title="Google Benchmark",
        needs=frozenset({"context", "benchmarks"}),
        rows="benchmarks.[]",
        only={"run_type": "iteration"},
        otherwise={"aggregate_name": "median"},
        failed={"error_occurred": True},
        repeats=True,
    ),
    Table(
        [Rule(metric="latency_ms", unit="s", samples="times")],
        {"tool": "hyperfine", "name": "{command}", "value": "median"},
        title="hyperfine",
        needs=frozenset({"results"}),
        rows="results.[]",
        parameters=("parameters.*",),
    ),
    Table(
        [Rule("*latenc*", "latency_ms", unit="ms")],
        {
            "tool": "TorchBench",
            "name": "{key1}",
            "suite": "{name}",
            "build": "{environ.pytorch_version}",
            "commit": "{environ.pytorch_git_version}",
        },
        title="userbenchmark of TorchBench",
        needs=frozenset({"environ", "metrics"}),
        rows="metrics.*",
    ),
    Table(
        [
            *(Rule(f"{kind}_*_ms") for kind in ("mean", "median", "p*")),
            Rule("*_throughput", higher_is_better=True),
        ],
        {
            "tool": "vLLM serving",
            "benchmark": "{model_id}",
            "config": "{backend|endpoint_type}",
            "time": "{date}",
        },
        title="vLLM's serving benchmark",
        needs=frozenset({"model_id", "request_throughput"}),
        parameters=("request_rate", "max_concurrency", "num_prompts"),
    ),
)
