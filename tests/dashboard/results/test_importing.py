"""Other tools' files: understood where they keep their format, refused with line and field where
they do not.

tests/data/imports/README.md tells who wrote the files.
"""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.results.core.result_format import parse_result
from dashboard.results.formats import Hints, ParsedFile, parse_metric_mapping, parse_file

FOLDER = Path(__file__).parents[2] / "data" / "imports"
PERFORMANCE = "inductor_torchbench_amp_training_cuda_performance.csv"
ACCURACY = PERFORMANCE.replace("performance", "accuracy")
HINTS = Hints("2.13.0", datetime(2026, 11, 1, tzinfo=UTC), "a100")


def of(name: str, hints: Hints = HINTS) -> ParsedFile:
    return parse_file(name, (FOLDER / name).read_bytes(), hints)


def by_model(found: ParsedFile) -> dict[str, Any]:
    """The checked results by model."""
    results = [parse_result(document) for _, document in found.documents]
    return {result.benchmark["model"]: result for result in results}


def reasons(name: str, body: str | bytes, hints: Hints = HINTS) -> str:
    found = parse_file(name, body if isinstance(body, bytes) else body.encode(), hints)
    return "\n".join(f"{one.where}: {one.why}" for one in found.refused)


def test_v3_records_of_one_case_are_one_result() -> None:
    found = of("v3.json", Hints())
    assert (len(found.documents), found.refused, found.left_out) == (3, [], {"cudagraph_skips": 3})
    result = parse_result(found.documents[0][1])
    assert (
        result.benchmark["name"]
        == "gpt2forsequenceclassification.imported.inference.bfloat16.static.b16"
    )
    assert (result.job["config"], result.job["build"]) == ("inductor", "git-a3f5c1d2e4b6")
    assert result.environment["machine"]["gpu"] == "NVIDIA H100"
    assert result.metrics["latency_ms"].value == 12.5
    assert result.metrics["cold_start_s"].value == 31.5


def test_a_list_of_v3_records_is_read_like_lines() -> None:
    records = [json.loads(line) for line in (FOLDER / "v3.json").read_text().splitlines()]
    found = parse_file("list.json", json.dumps(records).encode(), HINTS)
    assert [document for _, document in found.documents] == [
        document for _, document in of("v3.json").documents
    ]


def test_several_values_of_a_v3_latency_are_samples() -> None:
    record = json.loads((FOLDER / "v3.json").read_text().splitlines()[0])
    record["metric"] = {"name": "latency_ms", "benchmark_values": [3.0, 1.0, 2.0]}
    result = parse_result(parse_file("v3.json", json.dumps(record).encode()).documents[0][1])
    assert (result.metrics["latency_ms"].value, list(result.arms[0].values)) == (
        2.0,
        [3.0, 1.0, 2.0],
    )


def test_a_metric_that_nobody_named_is_left_out_and_one_that_was_named_is_scaled() -> None:
    record = json.loads((FOLDER / "v3.json").read_text().splitlines()[0])
    record["metric"] = {"name": "latency", "benchmark_values": [3000, 1000, 2000]}
    body = json.dumps(record).encode()
    assert parse_file("v3.json", body).left_out == {"latency": 1}
    found = parse_file("v3.json", body, Hints(metrics=dict([parse_metric_mapping("latency=latency_ms*0.001")])))
    result = parse_result(found.documents[0][1])
    assert (result.metrics["latency_ms"].value, list(result.arms[0].values)) == (
        2.0,
        [3.0, 1.0, 2.0],
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("latency_ms", "write THEIRS=OURS"),
        ("=latency_ms", "write THEIRS=OURS"),
        ("t=latency", "Did you mean latency_ms"),
        ("t=latency_ms*ms", "'ms' is not a factor"),
    ],
)
def test_a_metric_is_named_by_theirs_and_ours(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        parse_metric_mapping(text)
    assert parse_metric_mapping("a=b (us) = latency_ms * 1e-3") == ("a=b (us)", ("latency_ms", 0.001))


def test_each_shape_of_a_v3_record_is_a_case() -> None:
    record = json.loads((FOLDER / "v3.json").read_text().splitlines()[0])
    record |= {
        "shape": ["(64, 512)", "(64, 1024)"],
        "metric": {"name": "speedup", "benchmark_values": [1.5, 2.0]},
    }
    results = by_model(parse_file("shapes.json", json.dumps(record).encode()))
    speedups = {model: result.metrics["speedup"].value for model, result in results.items()}
    assert speedups == {
        "gpt2forsequenceclassification_64_512": 1.5,
        "gpt2forsequenceclassification_64_1024": 2.0,
    }


def test_an_accuracy_of_v3_that_is_no_yes_or_no_is_no_verdict() -> None:
    record = json.loads((FOLDER / "v3.json").read_text().splitlines()[0])
    record["metric"] = {"name": "accuracy", "benchmark_values": [0.85]}
    found = parse_file("eval.json", json.dumps(record).encode())
    assert (found.documents, found.left_out) == ([], {"accuracy": 1})


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"timestamp": None}, "timestamp is missing, not a number"),
        ({"timestamp": 12}, "timestamp is 12: expected seconds since 1970"),
        (
            {"metric": {"name": "speedup", "benchmark_values": ["fast"]}},
            "benchmark_values[0] is 'fast', not a number",
        ),
        (
            {"metric": {"name": "speedup", "benchmark_values": []}},
            "metric.benchmark_values is empty",
        ),
        ({"metric": {"benchmark_values": [1]}}, "metric.name is missing: expected a text"),
        (
            {"metric": {"name": "accuracy", "extra_info": {"benchmark_values": ["hm"]}}},
            "is 'hm': expected pass",
        ),
        ({"benchmark": {"name": 7}}, "benchmark.name is 7: expected a text"),
        ({"benchmark": "x"}, "benchmark is 'x': expected an object"),
        ({"runners": "x"}, "runners is not a list"),
        ({"shape": ["a", "b"]}, "metric.benchmark_values has 1 entries for the 2 of shape"),
        ({"head_sha": ""}, "neither head_sha nor dependencies names the build"),
    ],
)
def test_a_v3_record_is_refused_with_its_field(change: dict[str, Any], why: str) -> None:
    lines = (FOLDER / "v3.json").read_text().splitlines()
    lines[1] = json.dumps({**json.loads(lines[1]), **change})
    told = reasons("v3.json", "\n".join(lines), Hints())
    assert (
        f"v3.json, line 2: {why}" in told or f"v3.json, line 2: metric.{why}" in told or why in told
    )


def test_the_performance_csv_gives_times_and_the_zero_row_is_a_failure() -> None:
    found = of(PERFORMANCE)
    results = by_model(found)
    bert = results["bert_pytorch"]
    assert (bert.metrics["speedup"].value, bert.metrics["latency_ms"].value) == (1.512345, 24.11822)
    assert (bert.benchmark["mode"], bert.benchmark["dtype"], bert.benchmark["batch_size"]) == (
        "training",
        "amp",
        16,
    )
    assert (results["moco"].status, dict(results["moco"].metrics)) == ("fail_to_run", {})
    assert found.left_out["calls_captured"] == 3


def test_the_accuracy_csv_gives_status_words() -> None:
    statuses = {model: result.status for model, result in by_model(of(ACCURACY)).items()}
    assert statuses == {"bert_pytorch": "pass", "resnet50": "fail_accuracy", "moco": "oom"}


def test_a_csv_needs_the_name_the_build_and_the_time() -> None:
    body = (FOLDER / PERFORMANCE).read_bytes()
    assert "the file's name does not say how it was run" in reasons("results.csv", body)
    assert "does not name the build or the time" in reasons(PERFORMANCE, body, Hints())


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
def test_a_csv_row_is_refused_with_its_line(row: str, why: str) -> None:
    lines = (FOLDER / PERFORMANCE).read_text().splitlines()
    told = reasons(PERFORMANCE, "\n".join([*lines[:2], row, lines[2]]))
    assert f"{PERFORMANCE}, line 3: " in told
    assert why in told


def test_pytest_benchmarks_medians_become_latencies() -> None:
    found = of("pytest_benchmark.json", Hints())
    results = by_model(found)
    assert results.keys() == {
        "test_speed_py_test_sum_10",
        "test_speed_py_test_sum_100",
        "test_speed_py_test_join",
    }
    joined = results["test_speed_py_test_join"]
    assert (joined.job["build"], joined.benchmark["family"]) == ("git-3f1c0e9a7b5d", "text")
    assert joined.metrics["latency_ms"].value == pytest.approx(0.000321, rel=1e-3)
    assert list(joined.arms[0].values) == pytest.approx([3.1e-4, 3.2e-4, 3.3e-4])


def test_asvs_times_and_peak_memory_are_read_and_the_rest_is_left_out() -> None:
    found = of("asv.json", Hints())
    results = by_model(found)
    assert found.left_out == {"track_": 1, "mem_": 1}
    assert results["speed_suite_time_sum_100_a"].metrics["latency_ms"].value == pytest.approx(
        0.003576, rel=1e-3
    )
    assert results["speed_peakmem_list"].metrics["peak_memory_gb"].value == pytest.approx(
        0.024731648
    )
    assert results["speed_time_fails"].status == "fail_to_run"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"commit_hash": None}, "commit_hash is missing"),
        ({"date": "today"}, "date is 'today', not a number"),
        (
            {"results": {"a.time_x": [[1.0, 2.0], [["1"]]]}},
            "results.a.time_x: result has 2 values for 1 combinations",
        ),
        ({"results": {"a.time_x": [["soon"], []]}}, "result of a.time_x is 'soon', not a number"),
        ({"results": {"a.time_x": [[1.0], [["1"] * 200] * 5]}}, "more than 10000 combinations"),
        ({"results": []}, "results"),
    ],
)
def test_asv_is_refused_with_its_field(change: dict[str, Any], why: str) -> None:
    value = {**json.loads((FOLDER / "asv.json").read_text()), **change}
    assert why in reasons("asv.json", json.dumps(value), Hints())


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
def test_what_is_no_known_file_is_refused(body: bytes, why: str) -> None:
    assert why in reasons("some.json", body)


@pytest.mark.parametrize("name", ["v3.json", PERFORMANCE, "asv.json", "pytest_benchmark.json"])
def test_a_file_that_was_cut_is_refused_and_nothing_wrong_is_made_of_it(name: str) -> None:
    body = (FOLDER / name).read_bytes()
    found = parse_file(name, body[: len(body) * 2 // 3 - 9], HINTS)
    assert found.refused
    for _, document in found.documents:
        parse_result(document)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(["v3.json", "asv.json", "pytest_benchmark.json"]),
    st.randoms(use_true_random=False),
    st.sampled_from([None, -1, 1e308, "x", [], {}, "\x00", True, [[[]]]]),
)
def test_whatever_stands_in_a_field_ends_in_results_or_refusals(
    name: str, random: Any, value: Any
) -> None:
    text = (FOLDER / name).read_text()
    document = json.loads(text.splitlines()[0] if name == "v3.json" else text)
    place: Any = document
    while True:
        key = random.choice(list(place) if isinstance(place, dict) else range(len(place)))
        if not isinstance(place[key], dict | list) or not place[key] or random.random() < 0.3:
            place[key] = value
            break
        place = place[key]
    for _, found in parse_file(name, json.dumps(document).encode(), HINTS).documents:
        assert found["benchmark"]["name"]
