"""Any CSV or JSON by a mapping, and the formats that are mappings themselves."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dashboard.results.formats import Hints, asv, dynamo_csv, parse_file, parse_table, v3
from dashboard.results.formats.tables import TABLES
from tests.builders.foreign_files import PERFORMANCE, documents
from tests.builders.foreign_shapes import HUD, TRITON

AT = datetime(2026, 11, 1, tzinfo=UTC)
Case = tuple[str, str, dict[str, float]]

OWN = """
benchmark = "{model}"
config = "{config}"
build = "{build}"
time = "{date}"
metrics = [{name = "latency_ms", metric = "latency_ms"}]
"""
OTAVA = """
benchmark = "tigerbeetle"
commit = "{commit}"
time = "{time}"
metrics = [{name = "load_tps", higher_is_better = true}, {name = "p100_ms"}]
"""
SERVING = """
rows = "[]"
benchmark = "{model.name}"
commit = "{head_sha}"
time = "{timestamp}"
machine = "h100"
name = "{metric.name}"
value = "metric.benchmark_values"
metrics = [{name = "mean_*_ms"}, {name = "requests_per_second", higher_is_better = true}]
"""


def cases(name: str, body: Any, mapping: str = "", **hints: Any) -> list[Case]:
    """(benchmark, config, values) of what is read."""
    text = body if isinstance(body, str) else json.dumps(body)
    table = parse_table(mapping) if mapping else None
    file = parse_file(name, text.encode(), Hints("2.13.0", AT, "box", table=table, **hints))
    assert not file.refused
    read = []
    for document in documents(file):
        values = {key: metric["value"] for key, metric in document["metrics"].items()}
        read.append((*document["job"]["imported"].values(), values))
    return read


def test_own_numbers() -> None:
    body = "date,build,model,config,latency_ms\n2026-11-20,2.13.0,llama_8b,inductor,20.1\n"
    assert cases("own.csv", body, OWN) == [("llama_8b", "inductor", {"latency_ms": 20.1})]


def test_tritonbench() -> None:
    body = "x_val;triton-latency;triton-speedup;eager-latency\n(8, 64);0.5 (±1%);2.0;1.0\n"
    assert cases("softmax.csv", body, TRITON) == [
        ("softmax (8, 64)", "triton", {"latency_ms": 0.5, "speedup": 2.0}),
        ("softmax (8, 64)", "eager", {"latency_ms": 1.0}),
    ]


def test_otava() -> None:
    body = "time,commit,load_tps,p100_ms\n2026-11-20 10:00:00 +0200,ab12,900,30\n"
    assert cases("tigerbeetle.csv", body, OTAVA) == [
        ("tigerbeetle [metric=load_tps]", "imported", {"higher_value": 900.0}),
        ("tigerbeetle [metric=p100_ms]", "imported", {"lower_value": 30.0}),
    ]


def test_rows_of_the_hud() -> None:
    row = {
        "granularity_bucket": "2026-11-20T00:00:00.000Z",
        "suite": "torchbench",
        "model": "resnet50",
        "backend": "inductor",
        "mode": "training",
        "dtype": "amp",
        "device": "cuda",
        "commit": "ab12",
    }
    rows = [
        row | {"metric": "abs_latency", "value": 41.9},
        row | {"metric": "compilation_latency", "value": "29.2"},
    ]
    assert cases("rows.json", rows, HUD) == [
        ("resnet50 (torchbench)", "inductor", {"latency_ms": 41.9, "cold_start_s": 29.2}),
    ]


def test_several_metrics_of_a_serving_record_keep_names_and_directions() -> None:
    records = [
        {
            "model": {"name": "llama"},
            "head_sha": "ab12",
            "timestamp": AT.timestamp(),
            "metric": {"name": name, "benchmark_values": [value]},
        }
        for name, value in (
            ("mean_ttft_ms", 35.2),
            ("mean_tpot_ms", 7.9),
            ("requests_per_second", 12.3),
        )
    ]
    assert cases("serving.json", records, SERVING) == [
        ("llama [metric=mean_ttft_ms]", "imported", {"lower_value": 35.2}),
        ("llama [metric=mean_tpot_ms]", "imported", {"lower_value": 7.9}),
        ("llama [metric=requests_per_second]", "imported", {"higher_value": 12.3}),
    ]


def test_google_benchmark() -> None:
    row = {"name": "BM_sum/8", "run_type": "iteration", "real_time": 2.5, "time_unit": "us"}
    file = {
        "context": {"date": "2026-11-20T10:00:00+01:00", "host_name": "box", "num_cpus": 8},
        "benchmarks": [row, row | {"real_time": 3.5}, row | {"run_type": "aggregate"}],
    }
    assert cases("gb.json", file) == [
        ("BM_sum/8", "imported", {"latency_ms": 0.0025}),
        ("BM_sum/8", "imported", {"latency_ms": 0.0035}),
    ]


def test_hyperfine() -> None:
    file = {"results": [{"command": "sleep 1", "mean": 1.1, "median": 1.0, "times": [0.9, 1.0]}]}
    assert cases("h.json", file) == [("sleep 1", "imported", {"latency_ms": 1000.0})]


def test_userbenchmark_of_torchbench() -> None:
    file = {
        "name": "torch-nightly",
        "environ": {"pytorch_git_version": "ab12"},
        "metrics": {"resnet50[eager]-latency": 12.5, "resnet50[eager]-flops": 3},
    }
    assert cases("metrics-2026.json", file) == [
        ("resnet50[eager]-latency (torch-nightly)", "imported", {"latency_ms": 12.5})
    ]


def test_serving_benchmark_of_vllm() -> None:
    file = {
        "date": "20261120-100000",
        "backend": "vllm",
        "model_id": "llama",
        "request_throughput": 12.3,
        "mean_ttft_ms": 35.2,
        "num_prompts": 100,
    }
    assert cases("serving.json", file) == [
        ("llama [metric=request_throughput, num_prompts=100]", "vllm", {"higher_value": 12.3}),
        ("llama [metric=mean_ttft_ms, num_prompts=100]", "vllm", {"lower_value": 35.2}),
    ]


def test_pattern_of_names_says_what_a_history_measures() -> None:
    benches = [
        {"name": "scale/npu_us", "value": 107.5, "unit": "us"},
        {"name": "scale/compile_s", "value": 2.14, "unit": "s"},
        {"name": "scale/core_elf_bytes", "value": 4168, "unit": "bytes"},
    ]
    commit = {"commit": {"id": "ab12"}, "date": 1792500000000, "tool": "customSmallerIsBetter"}
    file = {"lastUpdate": 0, "entries": {"npu": [commit | {"benches": benches}]}}
    metrics = {"*/compile_s": ("cold_start_s", 1.0)}
    assert cases("data.json", file, metrics=metrics) == [
        ("scale/npu_us", "npu", {"latency_ms": pytest.approx(0.1075)}),
        ("scale/compile_s", "npu", {"cold_start_s": 2.14}),
        ("scale/core_elf_bytes", "npu", {"lower_value": 4168.0}),
    ]


@pytest.mark.parametrize(
    ("mapping", "why"),
    [
        ("benchmark =", "cannot be read"),
        ('bencmark = "a"\nmetrics = [{}]', "bencmark"),
        ('benchmark = "a"', '"metrics" is a required property'),
        ("metrics = [{factor = 'x'}]", "is not of type"),
        ("metrics = [{name = '{config}{config}'}]", "redefinition of group name"),
        ('metrics = [{metric = "latency"}]', "Did you mean latency_ms"),
    ],
)
def test_mapping_that_cannot_be_used_is_refused(mapping: str, why: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        parse_table(mapping)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    "written",
    [
        "2026-11-20T10:00:00Z",
        "2026-11-20 12:00:00 +0200",
        "2026-11-20 10:00",
        "20261120-100000",
        "1795168800",
        "1795168800000",
    ],
)
def test_times_are_read_as_tools_write_them(written: str) -> None:
    body = f"date,build,model,config,latency_ms\n{written},2.13.0,llama,eager,20.1\n"
    file = parse_file("own.csv", body.encode(), Hints(machine="box", table=parse_table(OWN)))
    [document] = documents(file)
    assert document["started_at"] == "2026-11-20T10:00:00.000+00:00"


def files_of_the_page() -> Iterator[tuple[str, str, str]]:
    """Name, content and mapping of each file that docs/import.md has to copy."""
    page = (Path(__file__).parents[3] / "docs" / "import.md").read_text()
    blocks = re.findall(r"```(text|json|toml)\n(.*?)```", page, re.DOTALL)
    for (kind, text), (next_kind, mapping) in pairwise([*blocks, ("", "")]):
        table = mapping if next_kind == "toml" else ""
        if kind == "text":
            yield PERFORMANCE if text.startswith("dev,") else "own.csv", text, table
        while kind == "json" and text.strip():
            _, end = json.JSONDecoder().raw_decode(text.lstrip())
            yield "file.json", text.lstrip()[:end], table
            text = text.lstrip()[end:]  # noqa: PLW2901 - several files in one block


@pytest.mark.parametrize(("name", "text", "mapping"), list(files_of_the_page()))
def test_file_of_the_page_can_be_copied(name: str, text: str, mapping: str) -> None:
    table = parse_table(mapping) if mapping else None
    file = parse_file(name, text.encode(), Hints(machine="box", table=table))
    if file.refused:  # it names no build, or no time
        file = parse_file(name, text.encode(), Hints("2.13.0", AT, "box", table=table))
    assert documents(file)
    assert not file.refused


def test_page_has_each_format_to_copy() -> None:
    titles = {parse_file(name, text.encode()).format for name, text, _ in files_of_the_page()}
    assert {table.title for table in (*TABLES, asv.TABLE, dynamo_csv.TABLE, v3.TABLE)} <= titles
