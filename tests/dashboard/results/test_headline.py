"""The few numbers that the page of a job begins with."""

from typing import Any

from dashboard.results.core.headline import headline


def document(status: str = "pass", **metrics: float) -> dict[str, Any]:
    entries = {key: {"value": value} for key, value in metrics.items()}
    return {"status": status, "metrics": entries}


def texts(of: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {number.metric.key: (number.text, number.note) for number in headline(of)}


def test_compiled_numbers_stand_next_to_eager() -> None:
    numbers = texts(document(latency_ms=2.0, eager_latency_ms=4.0, speedup=2.0))
    assert numbers["latency_ms"] == ("2.00 ms", "eager 4.00 ms")
    assert list(numbers) == ["speedup", "latency_ms"]


def test_cold_start_says_when_it_is_paid_back() -> None:
    numbers = texts(document(cold_start_s=28.4, break_even_steps=473.0))
    assert numbers["cold_start_s"] == ("28.4 s", "paid back after 470 steps")


def test_missing_number_has_its_reason() -> None:
    result = document(speedup=2.0) | {"absent": {"device_ms": "no profiler on this device"}}
    assert texts(result)["device_ms"] == ("–", "no profiler on this device")


def test_long_reason_is_cut_after_its_first_sentence() -> None:
    reason = (
        "there is no eager arm: Memory ran out. Use a smaller batch. Tried to allocate 2.2 GiB."
    )
    result = document(latency_ms=2.0) | {"absent": {"speedup": reason}}
    assert texts(result)["speedup"] == ("–", "there is no eager arm: Memory ran out.")


def test_failed_job_has_no_side_numbers() -> None:
    assert headline(document("fail_to_run", passed=0.0, toolchain_s=67.0)) == []


def test_document_without_the_usual_metrics_shows_its_own() -> None:
    assert list(texts(document(passed=1.0, tflops=50.0))) == ["tflops"]


def test_speedup_without_an_interval_says_of_how_few_pairs_it_is() -> None:
    of = document("pass")
    of["metrics"]["speedup"] = {"value": 1.57, "low": None, "high": None, "n": 4}
    assert texts(of)["speedup"][1] == "the median of 4 pairs, too few for an interval"
