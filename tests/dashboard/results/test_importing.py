"""Other tools' files: read where they keep their format, else refused with line and field.

tests/data/imports/README.md says who wrote the files.
"""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.results.core.result_format import parse_result
from dashboard.results.formats import Hints, parse_file, parse_metric_mapping
from tests.builders.foreign_files import (
    ACCURACY,
    FOLDER,
    HINTS,
    PERFORMANCE,
    by_model,
    documents,
    first_record,
    of,
    reasons,
)


def test_v3_records_of_one_case_are_one_result() -> None:
    file = of("v3.json", Hints())
    assert len(file.documents) == 3
    assert file.refused == []
    assert file.left_out == {}
    result = parse_result(file.documents[0][1])
    assert result.job["imported"] == {
        "benchmark": "GPT2ForSequenceClassification (huggingface)",
        "config": "inductor",
    }
    assert result.job["config"] == "inductor"
    assert result.job["build"] == "git-a3f5c1d2e4b6"
    assert result.environment["machine"]["gpu"] == "NVIDIA H100"
    assert result.metrics["latency_ms"].value == 12.5
    assert result.metrics["cold_start_s"].value == 31.5
    assert "cudagraph_skips" in result.metrics


def test_list_of_v3_records_is_read_like_lines() -> None:
    lines = (FOLDER / "v3.json").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    from_list = parse_file("list.json", json.dumps(records).encode(), HINTS)
    assert documents(from_list) == documents(of("v3.json"))


def test_several_values_of_a_v3_latency_are_samples() -> None:
    record = first_record()
    record["metric"] = {"name": "latency_ms", "benchmark_values": [3.0, 1.0, 2.0]}
    file = parse_file("v3.json", json.dumps(record).encode())
    result = parse_result(documents(file)[0])
    assert result.metrics["latency_ms"].value == 2.0
    assert list(result.arms[0].values) == [3.0, 1.0, 2.0]


def test_unnamed_metric_is_left_out_and_named_metric_is_scaled() -> None:
    record = first_record()
    record["metric"] = {"name": "latency", "benchmark_values": [3000, 1000, 2000]}
    body = json.dumps(record).encode()
    assert parse_file("v3.json", body).left_out == {"latency": 1}
    hints = Hints(metrics=dict([parse_metric_mapping("lat*=latency_ms*0.001")]))
    file = parse_file("v3.json", body, hints)
    result = parse_result(file.documents[0][1])
    assert result.metrics["latency_ms"].value == 2.0
    assert list(result.arms[0].values) == [3.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("latency_ms", "write THEIRS=OURS"),
        ("=latency_ms", "write THEIRS=OURS"),
        ("t=latency", "Did you mean latency_ms"),
        ("t=latency_ms*ms", "'ms' is not a factor"),
    ],
)
def test_metric_mapping_has_their_name_and_ours(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        parse_metric_mapping(text)
    assert parse_metric_mapping("a=b (us) = latency_ms * 1e-3") == (
        "a=b (us)",
        ("latency_ms", 0.001),
    )


def test_each_shape_of_a_v3_record_is_a_case() -> None:
    record = first_record()
    record |= {
        "shape": ["(64, 512)", "(64, 1024)"],
        "metric": {"name": "speedup", "benchmark_values": [1.5, 2.0]},
    }
    results = by_model(parse_file("shapes.json", json.dumps(record).encode()))
    assert len(results) == 2
    small = results["gpt2forsequenceclassification_64_512"]
    large = results["gpt2forsequenceclassification_64_1024"]
    assert small.metrics["speedup"].value == 1.5
    assert large.metrics["speedup"].value == 2.0


def test_v3_accuracy_other_than_0_or_1_is_left_out() -> None:
    record = first_record()
    record["metric"] = {"name": "accuracy", "benchmark_values": [0.85]}
    file = parse_file("eval.json", json.dumps(record).encode())
    assert file.documents == []
    assert file.left_out == {"accuracy": 1}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {"timestamp": None},
            "timestamp is missing: say with the import when it was measured (--at)",
        ),
        ({"timestamp": 12}, "timestamp is '12', not a time since 1990"),
        (
            {"metric": {"name": "speedup", "benchmark_values": ["fast"]}},
            "benchmark_values[0] is 'fast', not a number",
        ),
        (
            {"metric": {"name": "speedup", "benchmark_values": []}},
            "metric.benchmark_values is empty",
        ),
        ({"metric": {"benchmark_values": [1]}}, "metric.name is '': expected a text"),
        (
            {"metric": {"name": "accuracy", "extra_info": {"benchmark_values": ["hm"]}}},
            "is 'hm': expected pass",
        ),
        ({"benchmark": {"name": 7}}, "benchmark.name is 7: expected a text"),
        ({"benchmark": "x"}, "benchmark is 'x': expected an object"),
        ({"runners": "x"}, "runners is 'x': expected a list"),
        ({"shape": ["a", "b"]}, "metric.benchmark_values has 1 entries for the 2 of shape"),
        ({"head_sha": ""}, "or head_sha names no commit: give the build's label with the import"),
    ],
)
def test_v3_record_is_refused_with_its_field(change: dict[str, Any], why: str) -> None:
    lines = (FOLDER / "v3.json").read_text().splitlines()
    record = json.loads(lines[1]) | change
    lines[1] = json.dumps(record)
    text = reasons("v3.json", "\n".join(lines), Hints())
    assert "v3.json, line 2: " in text
    assert why in text


def test_performance_csv_gives_times_and_its_zero_row_is_a_failure() -> None:
    file = of(PERFORMANCE)
    results = by_model(file)
    bert = results["bert_pytorch"]
    assert bert.metrics["speedup"].value == 1.512345
    assert bert.metrics["latency_ms"].value == 24.11822
    assert bert.benchmark["mode"] == "training"
    assert bert.benchmark["dtype"] == "amp"
    assert bert.benchmark["batch_size"] == 16
    assert results["moco"].status == "fail_to_run"
    assert not results["moco"].metrics
    assert file.left_out["calls_captured"] == 2


def test_accuracy_csv_gives_status_words() -> None:
    results = by_model(of(ACCURACY))
    assert len(results) == 3
    assert results["bert_pytorch"].status == "pass"
    assert results["resnet50"].status == "fail_accuracy"
    assert results["moco"].status == "oom"


def test_csv_without_name_build_or_time_is_refused() -> None:
    body = (FOLDER / PERFORMANCE).read_bytes()
    assert "the file's name does not say how it was run" in reasons("results.csv", body)
    assert "lacks what these options say: --build, --at, --machine" in reasons(
        PERFORMANCE, body, Hints()
    )


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("cuda,a,16", "another number of fields"),
        ("cuda,a,16," + ",".join(["1"] * 14), "another number of fields"),
        ("cuda,,16," + ",".join(["1"] * 13), "name is '': expected a text"),
        ("cuda,a,x," + ",".join(["1"] * 13), "batch_size is 'x', not a number"),
        ("cuda,a,16,nan," + ",".join(["1"] * 12), "speedup is 'nan': only finite numbers"),
        ("cuda,a,16,infra," + ",".join(["1"] * 12), "speedup is 'infra', not a number"),
        ("cuda," + "a" * 20_000 + ",16," + ",".join(["1"] * 13), "longer than 10000 characters"),
    ],
)
def test_csv_row_is_refused_with_its_line(row: str, why: str) -> None:
    lines = (FOLDER / PERFORMANCE).read_text().splitlines()
    lines.insert(2, row)
    text = reasons(PERFORMANCE, "\n".join(lines[:4]))
    assert f"{PERFORMANCE}, line 3: " in text
    assert why in text


def test_pytest_benchmarks_medians_become_latencies() -> None:
    file = of("pytest_benchmark.json", Hints())
    results = by_model(file)
    assert results.keys() == {
        "test_speed_py_test_sum_10",
        "test_speed_py_test_sum_100",
        "test_speed_py_test_join",
    }
    joined = results["test_speed_py_test_join"]
    assert joined.job["build"] == "git-3f1c0e9a7b5d"
    assert joined.benchmark["family"] == "text"
    assert joined.metrics["latency_ms"].value == pytest.approx(0.000321, rel=1e-3)
    assert list(joined.arms[0].values) == pytest.approx([3.1e-4, 3.2e-4, 3.3e-4])


def test_asvs_times_and_peak_memory_are_read_and_the_rest_is_left_out() -> None:
    file = of("asv.json", Hints())
    results = by_model(file)
    assert file.left_out == {"track_": 4, "mem_": 1}
    time = results["speed_suite_time_sum_100_a"].metrics["latency_ms"]
    memory = results["speed_peakmem_list"].metrics["peak_memory_gb"]
    assert time.value == pytest.approx(0.003576, rel=1e-3)
    assert memory.value == pytest.approx(0.024731648)
    assert results["speed_time_fails"].status == "fail_to_run"


def test_asvs_memory_is_what_a_person_wrote() -> None:
    value = json.loads((FOLDER / "asv.json").read_text())
    value["params"]["ram"] = "7GB"
    assert reasons("asv.json", json.dumps(value), Hints()) == ""


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"commit_hash": None}, "commit_hash names no commit"),
        ({"date": "today"}, "date is 'today', not a time"),
        (
            {"results": {"a.time_x": [[1.0, 2.0], [["1"]]]}},
            "results.a.time_x: result has 2 values for 1 combinations",
        ),
        (
            {"results": {"a.time_x": [["soon"], []]}},
            "results.a.time_x: value is 'soon', not a number",
        ),
        ({"results": {"a.time_x": [[1.0], [["1"] * 200] * 5]}}, "more than 10000 combinations"),
        ({"results": []}, "results"),
    ],
)
def test_asv_is_refused_with_its_field(change: dict[str, Any], why: str) -> None:
    value = {**json.loads((FOLDER / "asv.json").read_text()), **change}
    assert why in reasons("asv.json", json.dumps(value), Hints())


def test_list_of_expected_accuracy_is_refused_as_what_it_is() -> None:
    text = reasons("expected.csv", "name,accuracy,graph_breaks\nresnet50,pass,0\n")
    assert "expected accuracy are not results" in text


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "empty"),
        (b"\x00\xff\xfe", "not JSON"),
        (b"[1, 2", "not JSON"),
        (b"{}", "none of what can be imported"),
        (b"[" * 100_000, "not JSON"),
        (b"[" * 100_000 + b"NaN", "not JSON"),
        (b"name,value\na,1\n", "not JSON"),
    ],
)
def test_unknown_file_is_refused(body: bytes, why: str) -> None:
    assert why in reasons("some.json", body)


@pytest.mark.parametrize("name", ["v3.json", PERFORMANCE, "asv.json", "pytest_benchmark.json"])
def test_cut_file_is_refused_and_what_it_gives_is_valid(name: str) -> None:
    body = (FOLDER / name).read_bytes()
    file = parse_file(name, body[: len(body) * 2 // 3 - 9], HINTS)
    assert file.refused
    for _, document in file.documents:
        parse_result(document)


@given(
    st.sampled_from(["v3.json", "asv.json", "pytest_benchmark.json", "data.js"]),
    st.randoms(use_true_random=False),
    st.sampled_from([None, -1, 1e308, "x", [], {}, "\x00", True, [[[]]]]),
)
def test_any_value_in_a_field_gives_results_or_refusals(
    name: str,
    random: Any,
    value: Any,
) -> None:
    text = (FOLDER / name).read_text().removeprefix("window.BENCHMARK_DATA = ")
    document = json.loads(text.splitlines()[0] if name == "v3.json" else text)
    place: Any = document
    while True:
        keys = list(place) if isinstance(place, dict) else range(len(place))
        key = random.choice(keys)
        is_leaf = not isinstance(place[key], dict | list) or not place[key]
        if is_leaf or random.random() < 0.3:
            place[key] = value
            break
        place = place[key]
    file = parse_file(name, json.dumps(document).encode(), HINTS)
    assert all(result["benchmark"]["name"] for _, result in file.documents)
