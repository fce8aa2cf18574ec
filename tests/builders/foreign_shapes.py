"""Files as tools write them, and as nobody should: compact, each with what is read of it.

The values are made up; the shapes are those of the tools' own output in 2026.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

AT = datetime(2026, 11, 20, 10, tzinfo=UTC)
SECONDS = AT.timestamp()
BOX = {"machine": "box"}
GIVEN = {"build": "2.13.0", "at": AT, **BOX}  # with files that lack them
Value = tuple[str, str, str, float]  # benchmark, config, our metric, number


@dataclass(frozen=True, slots=True)
class Shape:
    """A file. values: what is read of it; refused: a part of each reason; left_out: their names.

    builds: their labels. given: options of the import.
    """

    name: str
    content: Any
    values: tuple[Value, ...] = ()
    refused: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    builds: tuple[str, ...] = ()
    mapping: str = ""
    given: Mapping[str, Any] = field(default_factory=lambda: BOX)

    @property
    def body(self) -> bytes:
        if isinstance(self.content, bytes):
            return self.content
        text = self.content if isinstance(self.content, str) else json.dumps(self.content)
        return text.encode()


def latency(name: str, value: float, config: str = "imported") -> Value:
    return name, config, "latency_ms", value


def v3(name: str, metric: Any, **changed: Any) -> dict[str, Any]:
    return {
        "timestamp": SECONDS,
        "schema_version": "v3",
        "repo": "pytorch/pytorch",
        "head_sha": "ab12cd34" * 5,
        "benchmark": {"name": "suite", "mode": "inference", "dtype": "bfloat16"},
        "model": {"name": name, "type": "OSS model", "origins": ["pytorch"]},
        "metric": metric,
        "runners": [{"name": "box", "type": "linux.h100", "gpu_info": "NVIDIA H100"}],
    } | changed


def commits(*benches: Mapping[str, Any], tool: str = "go", **changed: Any) -> dict[str, Any]:
    commit = {"id": "ab12cd34" * 5, "timestamp": "2026-11-20T10:00:00Z"}
    entry = {"commit": commit, "date": SECONDS * 1000, "tool": tool, "benches": list(benches)}
    return {"lastUpdate": 0, "repoUrl": "", "entries": {"Suite": [entry | changed]}}


RUNNER = (
    "dev,name,batch_size,speedup,abs_latency,compilation_latency,compression_ratio,"
    "eager_peak_mem,dynamo_peak_mem,calls_captured,unique_graphs,graph_breaks"
)
OWN = """
benchmark = "{model}"
config = "{config}"
build = "{build}"
time = "{date}"
status = "{status}"
metrics = [
    {name = "step_us", metric = "latency_ms", unit = "us"},
    {name = "peak_mb", metric = "peak_memory_gb", unit = "MB"},
    {name = "tokens/s", higher_is_better = true},
]
"""
HUD = """
rows = "[]"
benchmark = "{model}"
suite = "{suite}"
config = "{backend}"
mode = "{mode}"
dtype = "{dtype}"
build = "{commit}"
time = "{granularity_bucket}"
machine = "{device}"
name = "{metric}"
metrics = [
    {name = "abs_latency", metric = "latency_ms"},
    {name = "compilation_latency", metric = "cold_start_s"},
]
"""
TRITON = """
benchmark = "softmax {x_val}"
metrics = [
    {name = "{config}-latency", metric = "latency_ms"},
    {name = "{config}-speedup", metric = "speedup"},
]
"""
OTAVA = """
benchmark = "tigerbeetle"
commit = "{commit}"
time = "{time}"
metrics = [{name = "load_tps", higher_is_better = true}, {name = "p100_ms"}]
"""
ASV_COLUMNS = ["result", "params", "version", "started_at", "duration", "stats_ci_99_a"]
ASV = {
    "commit_hash": "ab12cd34" * 5,
    "env_name": "virtualenv-py3.12-numpy2.1",
    "date": SECONDS * 1000,
    "params": {"arch": "x86_64", "cpu": "Xeon", "machine": "box", "num_cpu": "8", "ram": "64GB"},
    "python": "3.12",
    "requirements": {"numpy": "2.1"},
    "result_columns": ASV_COLUMNS,
    "version": 2,
}
GOOGLE = {"date": "2026-11-20T11:00:00+01:00", "host_name": "box", "num_cpus": 8, "caches": []}


def google(name: str, value: float, **changed: Any) -> dict[str, Any]:
    row = {"name": name, "run_name": name, "run_type": "iteration", "repetitions": 2, "threads": 1}
    return row | {"iterations": 9, "real_time": value, "cpu_time": 1, "time_unit": "us"} | changed


def aggregate(name: str, kind: str, value: float) -> dict[str, Any]:
    changed = {"run_name": name, "run_type": "aggregate", "aggregate_name": kind}
    return google(f"{name}_{kind}", value, **changed)


REAL = (
    Shape(
        "0-virtualenv-py3.12.json",
        ASV
        | {
            "results": {
                "keys.Dict.time_keys": [[2e-3], [], "v", SECONDS * 1000, 1.2, [1e-3]],
                "keys.time_range": [[1e-3, None, float("nan")], [["10", "100", "'a'"]], "v"],
                "keys.peakmem_list": [[64_000_000], [], "v"],
                "keys.track_count": [[3], [], "v"],
            }
        },
        (
            latency("keys.Dict.time_keys", 2.0, "virtualenv-py3.12-numpy2.1"),
            latency("keys.time_range[10]", 1.0, "virtualenv-py3.12-numpy2.1"),
            ("keys.peakmem_list", "virtualenv-py3.12-numpy2.1", "peak_memory_gb", 0.064),
        ),
        left_out=("track_",),
    ),
    Shape(
        "benchmarks.json",
        {"version": 2, "keys.time_range": {"code": "", "param_names": ["n"], "unit": "seconds"}},
    ),
    Shape("machine.json", {"version": 1, "machine": "box", "num_cpu": "8", "ram": "", "arch": ""}),
    Shape(
        "inductor_with_cudagraphs_torchbench_amp_training_cuda_performance.csv",
        f"{RUNNER}\ncuda,BERT_pytorch,16,1.5,24.1,38.5,0.9,4.5,4.2,2282,1,0\n"
        "cuda,moco,32,0.0,0.0,0.0,0.0,0.0,0.0,0,0,0\n",
        (
            latency("BERT_pytorch (torchbench)", 24.1, "inductor_with_cudagraphs"),
            ("BERT_pytorch (torchbench)", "inductor_with_cudagraphs", "cold_start_s", 38.5),
            ("BERT_pytorch (torchbench)", "inductor_with_cudagraphs", "peak_memory_gb", 4.2),
        ),
        left_out=("calls_captured",),
        given=GIVEN,
    ),
    Shape(
        "inductor_huggingface_float32_inference_cpu_performance.csv",
        f"{RUNNER}\ncpu,T5Small,1,2.0,58.9,-0.4,0.9,250.8,271.5,1,1,0\n",
        (latency("T5Small (huggingface)", 58.9, "inductor"),),
        left_out=("compilation_latency", "eager_peak_mem", "dynamo_peak_mem", "calls_captured"),
        given=GIVEN,
    ),
    Shape(
        "inductor_timm_models_bfloat16_training_cuda_accuracy.csv",
        "dev,name,batch_size,accuracy\ncuda,beit,8,pass_due_to_skip\ncuda,vit,8,eager_1st_run_OOM\n",
        given=GIVEN,
    ),
    Shape(
        "hud.json",
        [
            {
                "granularity_bucket": "2026-11-20T00:00:00.000Z",
                "suite": "torchbench",
                "model": "resnet50",
                "backend": "inductor",
                "mode": "training",
                "dtype": "amp",
                "device": "cuda",
                "arch": "h100",
                "commit": "ab12cd34",
                "metric": metric,
                "value": value,
            }
            for metric, value in (("abs_latency", 41.9), ("compilation_latency", "29.2"))
        ],
        (
            latency("resnet50 (torchbench)", 41.9, "inductor"),
            ("resnet50 (torchbench)", "inductor", "cold_start_s", 29.2),
        ),
        mapping=HUD,
    ),
    Shape(
        "gpt_fast.json",
        v3("Llama-2-7b", {"name": "token_per_sec", "benchmark_values": [93.9], "target_value": 94}),
        (("Llama-2-7b (pytorch) [benchmark=suite]", "imported", "higher_value", 93.9),),
        given=BOX | {"metrics": {"token_per_sec": ("higher_value", 1.0)}},
    ),
    Shape(
        "vllm_latency.json",
        [v3("opt-125m", {"name": "latency", "benchmark_values": [0.5, 0.4, 0.6]})],
        (latency("opt-125m (pytorch) [benchmark=suite]", 500.0),),
        given=BOX | {"metrics": {"latency": ("latency_ms", 1000.0)}},
    ),
    Shape(
        "kernels.jsonl",
        "\n".join(
            json.dumps(
                v3("rms_norm", {"name": name, "benchmark_values": values}, shape=["8", "16"])
            )
            for name, values in (("latency_ms", [1.0, 2.0]), ("speedup", [1.5, 1.25]))
        ),
        (
            latency("rms_norm 8 (pytorch) [benchmark=suite]", 1.0),
            latency("rms_norm 16 (pytorch) [benchmark=suite]", 2.0),
            ("rms_norm 16 (pytorch) [benchmark=suite]", "imported", "speedup", 1.25),
        ),
    ),
    Shape(
        "pytest.json",
        {
            "machine_info": {"node": "box", "cpu": {"brand_raw": "Xeon", "count": 8}},
            "commit_info": {"id": "ab12cd34" * 5, "dirty": True, "branch": "main"},
            "benchmarks": [
                {
                    "group": None,
                    "name": "test_sum[10]",
                    "fullname": "tests/test_sum.py::test_sum[10]",
                    "params": {"n": 10},
                    "stats": {"min": 1e-3, "median": 2e-3, "mean": 3e-3, "rounds": 9, "ops": 500},
                }
            ],
            "datetime": "2026-11-20T10:00:00.000000+00:00",
            "version": "5.1.0",
        },
        (latency("tests/test_sum.py::test_sum[10]", 2.0),),
    ),
    Shape(
        "google.json",
        {
            "context": GOOGLE,
            "benchmarks": [
                google("BM_sum/8", 2.5),
                google("BM_sum/8", 3.5, repetition_index=1),
                aggregate("BM_sum/8", "mean", 3.0),
                aggregate("BM_sum", "BigO", 0.1),
                google("BM_bad", 0, error_occurred=True, error_message="no such file"),
            ],
        },
        (latency("BM_sum/8", 0.0025), latency("BM_sum/8", 0.0035)),
        given=GIVEN,
    ),
    Shape(
        "google_aggregates.json",
        {
            "context": GOOGLE,
            "benchmarks": [
                aggregate("BM_sum/8", "mean", 3.0),
                aggregate("BM_sum/8", "median", 2.5),
                aggregate("BM_sum/8", "stddev", 0.2),
            ],
        },
        (latency("BM_sum/8", 0.0025),),
        given=GIVEN,
    ),
    Shape(
        "hyperfine.json",
        {
            "results": [
                {
                    "command": "bench",
                    "mean": 1.1,
                    "median": 1.0,
                    "user": 0.9,
                    "times": [0.9, 1.0, 1.4],
                    "exit_codes": [0, 0, 0],
                    "parameters": {"threads": threads},
                }
                for threads in ("1", "2")
            ]
        },
        (latency("bench [threads=1]", 1000.0), latency("bench [threads=2]", 1000.0)),
        given=GIVEN,
    ),
    Shape(
        "tritonbench.csv",
        "x_val;triton_softmax-latency;triton_softmax-speedup;naive-latency\n"
        "(8, 64);0.009472 (±2.70%);1.95;0.0185 (±1.10%)\n",
        (
            latency("softmax (8, 64)", 0.009472, "triton_softmax"),
            ("softmax (8, 64)", "triton_softmax", "speedup", 1.95),
            latency("softmax (8, 64)", 0.0185, "naive"),
        ),
        mapping=TRITON,
        given=GIVEN,
    ),
    Shape(
        "tritonbench.json",
        {
            "name": "triton_benchmarks",
            "environ": {"pytorch_git_version": "ab12cd34"},
            "metrics": {
                "tritonbench_softmax_fwd[x_(8, 64)-triton]_latency": "0.009",
                "tritonbench_softmax_fwd[x_(8, 64)-triton]_speedup": "1.9",
            },
        },
        (latency("tritonbench_softmax_fwd[x_(8, 64)-triton]_latency (triton_benchmarks)", 0.009),),
        left_out=("tritonbench_softmax_fwd[x_(8, 64)-triton]_speedup",),
        given=GIVEN,
    ),
    Shape(
        "otava.csv",
        "time,commit,load_tps,p100_ms\n2026-11-20 12:00:00 +0200,ab12cd34,900,30\n",
        (
            ("tigerbeetle [metric=load_tps]", "imported", "higher_value", 900.0),
            ("tigerbeetle [metric=p100_ms]", "imported", "lower_value", 30.0),
        ),
        mapping=OTAVA,
    ),
    Shape(
        "serving.json",
        {
            "date": "20261120-100000",
            "endpoint_type": "openai",
            "backend": "vllm",
            "model_id": "meta-llama/Llama-3.1-8B",
            "num_prompts": 1000,
            "request_rate": "inf",
            "max_concurrency": None,
            "duration": 57.3,
            "request_throughput": 17.4,
            "mean_ttft_ms": 35.2,
            "std_ttft_ms": 4.1,
            "p99_ttft_ms": 80.5,
            "ttfts": [0.03, 0.04],
            "errors": ["", ""],
        },
        tuple(
            (
                f"meta-llama/Llama-3.1-8B [metric={name}, num_prompts=1000, request_rate=inf]",
                "vllm",
                key,
                value,
            )
            for name, key, value in (
                ("request_throughput", "higher_value", 17.4),
                ("mean_ttft_ms", "lower_value", 35.2),
                ("p99_ttft_ms", "lower_value", 80.5),
            )
        ),
        left_out=("duration", "std_ttft_ms"),
        given=GIVEN,
    ),
    Shape(
        "data.js",
        "window.BENCHMARK_DATA = "
        + json.dumps(
            commits(
                {"name": "decode", "value": 1234.5, "unit": "tokens/s", "range": "± 2"},
                {"name": "prefill", "value": 2, "unit": "ms"},
                tool="customBiggerIsBetter",
            )
        ),
        (
            ("decode", "Suite", "higher_value", 1234.5),
            latency("prefill", 2.0, "Suite"),
        ),
    ),
    Shape(
        "own.csv",
        "date,build,model,config,status,step_us,peak_mb,tokens/s\n"
        "2026-11-20T10:00:00Z,2.13.0,llama,inductor,pass,20100,8192,990.5\n"
        "2026-11-20T10:00:00Z,2.13.0,llama,eager,OOM,,,\n",
        (
            latency("llama", 20.1, "inductor"),
            ("llama", "inductor", "peak_memory_gb", 8.192),
            ("llama [metric=tokens/s]", "inductor", "higher_value", 990.5),
        ),
        mapping=OWN,
    ),
)

PLAIN = """
benchmark = "{model}"
commit = "{commit}"
time = "{date}"
mode = "{mode}"
metrics = [{name = "ms", metric = "latency_ms"}]
"""
HEAD = "date,commit,model,mode,ms\n"
DAY = "2026-11-20T10:00:00Z"


def plain(*rows: str, **expected: Any) -> Shape:
    return Shape("plain.csv", HEAD + "\n".join([*rows, ""]), mapping=PLAIN, **expected)


HOSTILE = (
    Shape(
        "twice.csv",
        f"date,commit,model,ms,ms\n{DAY},ab12,a,1,2\n",
        refused=("its first line has the column 'ms' twice",),
        mapping=PLAIN,
    ),
    Shape(
        "bom.csv",
        f"\ufeff{HEAD}{DAY},ab12,a,,1\n".replace(",", ";").replace("\n", "\r\n"),
        (latency("a", 1.0),),
        mapping=PLAIN,
    ),
    Shape(
        "utf16.csv",
        f"{HEAD}{DAY},ab12,a,,1\n".replace(",", "\t").encode("utf-16"),
        (latency("a", 1.0),),
        mapping=PLAIN,
    ),
    plain(f"{DAY};ab12;a;;1", refused=("another number of fields",)),
    plain(f'{DAY},ab12,a,,"20,1"', refused=("ms is '20,1', not a number",)),
    plain("2026.11.20,ab12,a,,1", refused=("date is '2026.11.20', not a time",)),
    plain("20261120,ab12,a,,1", values=(latency("a", 1.0),)),
    plain("20/11/2026,ab12,a,,1", refused=("date is '20/11/2026', not a time",)),
    plain(
        f"{DAY},release-2026-11-20,a,,1",
        f"{DAY},release-2026-11-21,a,,2",
        f"{DAY},{'x' * 250}y,a,,3",
        f"{DAY},{'x' * 250}z,a,,4",
        values=tuple(latency("a", value) for value in (1.0, 2.0, 3.0, 4.0)),
        builds=(
            "git-release-2026-11-20",
            "git-release-2026-11-21",
            f"git-{'x' * 187}_853e9963",
            f"git-{'x' * 187}_fd6b11ad",
        ),
    ),
    plain(f"{DAY},ab12,a,,-1", refused=("ms is '-1': it cannot be negative",)),
    plain(f"{DAY},ab12,a,,nan", refused=("ms is 'nan': only finite numbers",)),
    plain(
        f"{DAY},ab12,a,Training,1",
        f"{DAY},ab12,a,training,2",
        refused=("ms would be a second latency_ms of a (imported)",),
    ),
    plain(
        f"{DAY},ab12,' a',,1",
        f"{DAY},ab12,'a',,1",
        values=(latency("' a'", 1.0), latency("'a'", 1.0)),
    ),
    plain(f"{DAY},ab12,a,prefill-128,1", values=(latency("a", 1.0),)),
    plain(f"{DAY},ab12, a,,1", f"{DAY},ab12,a,,2", refused=("a second latency_ms of a",)),
    Shape("empty.csv", HEAD, mapping=PLAIN),
    Shape("empty.json", [], mapping=f'rows = "[]"\n{PLAIN}'),
    Shape(
        "flat.json",
        {"rows": 7},
        refused=("rows is 7: expected a list",),
        mapping=f'rows = "rows.[]"\n{PLAIN}',
    ),
    Shape(
        "names.json",
        commits(
            *(
                {"name": name, "value": 1, "unit": "ms"}
                for name in ("<b>x</b>", "\u202ex", "x\u0000", "🚀", "=1+1", "x" * 5000)
            )
        ),
        tuple(
            latency(name, 1.0, "Suite")
            for name in ("<b>x</b>", "\u202ex", "x\ufffd", "🚀", "=1+1", "x" * 5000)
        ),
    ),
    Shape(
        "numbers.json",
        commits(
            {"name": "true", "value": True, "unit": "ms"},
            {"name": "null", "value": None, "unit": "ms"},
            {"name": "vast", "value": 1e308, "unit": "s"},
            {"name": "endless", "value": float("inf"), "unit": "s"},
            {"name": "hours", "value": 1, "unit": "h"},
        ),
        refused=(
            "value is True, not a number",
            "value is missing, not a number",
            "too large for our unit",
            "only finite numbers",
        ),
        left_out=("h",),
    ),
    Shape(
        "shapes.json",
        [
            v3("a", {"name": "latency_ms", "benchmark_values": [1.0]}, benchmark=None),
            v3("a", {"name": "latency_ms", "benchmark_values": [1.0]}, model=["a"]),
            v3("a", {"name": "latency_ms", "benchmark_values": [1.0]}, runners={"name": "a"}),
            v3("a", {"name": "latency_ms", "benchmark_values": {"a": 1}}),
            v3("a", ["latency_ms"]),
        ],
        refused=(
            "benchmark.name is missing",
            "model is ['a']: expected an object",
            "runners is {'name': 'a'}: expected a list",
            "metric.benchmark_values is missing, not a number",
            "metric is ['latency_ms']: expected an object",
        ),
    ),
    Shape(
        "word.csv",
        f"date,build,model,config,status,step_us\n{DAY},b,a,eager,exploded,1\n",
        refused=("status is 'exploded': expected pass",),
        mapping=OWN,
    ),
)
