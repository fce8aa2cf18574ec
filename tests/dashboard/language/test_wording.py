"""Numbers and changes as people read them."""

from typing import Any

import pytest

from dashboard.language.metrics import METRICS
from dashboard.language.questions import question
from dashboard.language.wording import (
    change,
    column_decimals,
    effect,
    fixed,
    fixed_interval,
    interval,
    metric_of,
    named,
    number,
    plural,
    quantity,
    quiet,
    span,
)
from dashboard.ui.templatetags.compilewatch import breakable, changed, file_size


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (17.3124, 17.28, 17.35, "17.31"),
        (17.3124, 15.0, 19.0, "17.3"),
        (12.7123, None, None, "12.7"),
        (0.41234, None, None, "0.412"),
        (1838.1, 1832.0, 1843.4, "1,838"),
        (123456.0, None, None, "123,456"),
        (3.2e-7, None, None, "3.20×10⁻⁷"),
        (9.996e-6, None, None, "1.00×10⁻⁵"),  # rounded before its power of ten is taken
        (9.996e-5, None, None, "0.000100"),
        (99.96, None, None, "100"),
        (9.996, 9.995, 9.997, "9.996"),
        (0.0, None, None, "0"),
        (-2.5, None, None, "-2.50"),
        (None, None, None, "–"),
        (float("nan"), None, None, "–"),
    ],
)
def test_number_has_the_digits_that_its_interval_supports(
    value: float, low: float, high: float, text: str
) -> None:
    assert number(value, low, high) == text


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("latency_ms", 17.31, "17.3 ms"),
        ("speedup", 1.3249, "1.32×"),
        ("compression_ratio", 0.0602, "0.0602×"),
        ("graph_breaks", 3.0, "3"),
        ("speedup", None, "–"),
        ("throughput_per_s", 1500.0, "1,500 /s"),
    ],
)
def test_quantity_has_its_unit(key: str, value: float | None, text: str) -> None:
    assert quantity(METRICS[key], value) == text


def test_interval_says_its_unit_once() -> None:
    assert interval(METRICS["latency_ms"], 17.2, 17.5) == "17.20 to 17.50 ms"


@pytest.mark.parametrize(
    ("key", "old", "new", "text", "tone"),
    [
        ("latency_ms", 100.0, 103.2, "3.2% slower", "bad"),
        ("latency_ms", 100.0, 90.0, "10.0% faster", "good"),
        ("throughput_per_s", 100.0, 90.0, "10.0% lower", "bad"),
        ("peak_memory_gb", 1.0, 1.5, "50.0% more memory", "bad"),
        ("speedup", 1.0, 1.5, "50.0% higher", "good"),
        ("drift", 1e-6, 4e-6, "300% less accurate", "bad"),
        ("graph_breaks", 0.0, 2.0, "2 more", "bad"),
        ("recompiles", 3.0, 2.0, "1 fewer", "good"),
        ("graph_breaks", 2.0, 2.0, "unchanged", "none"),
        ("latency_ms", 100.0, 100.01, "unchanged", "none"),
    ],
)
def test_change_has_its_direction_in_words(
    key: str, old: float, new: float, text: str, tone: str
) -> None:
    result = change(METRICS[key], old, new)
    assert result
    assert result.text == text
    assert result.tone == tone


def test_missing_value_has_no_change() -> None:
    assert change(METRICS["latency_ms"], None, 2.0) is None


def test_unknown_metric_shows_its_key() -> None:
    assert metric_of("old_thing_ms").label == "Old thing ms"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (271_000_000_000, "271.0 GB"),
        (3 * 10**15, "3,000.0 TB"),
    ],
)
def test_file_size_is_in_powers_of_1000(count: int, text: str) -> None:
    assert file_size(count) == text


@pytest.mark.parametrize(
    ("key", "numbers", "text", "tone"),
    [
        ("latency_ms", (6.21, 5.12, 7.43, "percent"), "6.2% slower (5.1 to 7.4%)", "bad"),
        ("latency_ms", (-6.21, -7.43, -5.12, "percent"), "6.2% faster (5.1 to 7.4%)", "good"),
        (
            "peak_memory_gb",
            (2.5, -0.5, 5.5, "percent"),
            "2.5% more memory (0.5% less memory to 5.5% more memory)",
            "bad",
        ),
        ("latency_ms", (290.0, 272.9, 310.0, "percent"), "290% slower (273 to 310%)", "bad"),
        ("latency_ms", (2.5, -0.04, 5.1, "percent"), "2.5% slower (0.0 to 5.1%)", "bad"),
        ("peak_memory_gb", (10.0, 10.0, 10.0, "percent"), "10.0% more memory", "bad"),
        ("compile_calls", (-11.79, -11.82, -11.76, "percent"), "11.8% lower", "good"),
        ("latency_ms", (6.21, float("-inf"), float("inf"), "percent"), "6.2% slower", "bad"),
        ("cold_start_s", (13.0, 1.6, 25.7, "percent"), "13% longer (2 to 26%)", "bad"),
        ("cold_start_s", (6.2, 0.3, 12.4, "percent"), "6.2% longer (0.3 to 12.4%)", "bad"),
        (
            "cold_start_s",
            (0.4, -8.4, 9.6, "percent"),
            "0.4% longer (8% shorter to 10% longer)",
            "bad",
        ),
        ("overhead_us", (74.6, 25.0, 146.2, "percent"), "75% higher (25 to 146%)", "bad"),
        ("graph_breaks", (2.0, 2.0, 2.0, "difference"), "2 more", "bad"),
    ],
)
def test_effect_has_its_interval(
    key: str,
    numbers: tuple[Any, ...],
    text: str,
    tone: str,
) -> None:
    result = effect(METRICS[key], *numbers)
    assert result
    assert result.text == text
    assert result.tone == tone


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("latency_ms", "6.2% slower (5.1 to 7.4%)", "latency 6.2% slower (5.1 to 7.4%)"),
        ("peak_memory_gb", "7.9% less memory", "peak memory 7.9% lower"),
        ("drift", "145% less accurate", "drift 145% higher"),
    ],
)
def test_change_after_its_metric_does_not_repeat_the_noun(
    key: str, text: str, expected: str
) -> None:
    assert named(METRICS[key], text) == expected


def test_effect_without_an_amount_is_none() -> None:
    assert effect(METRICS["latency_ms"], None, None, None, "percent") is None


def test_name_breaks_at_its_parts_and_not_within_a_number() -> None:
    assert breakable("gpt2.smoke.b16") == "gpt2.<wbr>smoke.<wbr>b16"
    assert breakable("2.13.0+cpu~scalar") == "2.13.0<wbr>+cpu<wbr>~scalar"
    assert breakable("mlp: 6.2% slower <b>") == "mlp: 6.2% slower &lt;b&gt;"


def tone(metric: str, old: float, new: float, *, is_shown: bool = False) -> str:
    toned = quiet(change(METRICS[metric], old, new), METRICS[metric], is_shown=is_shown)
    assert toned
    return toned.tone


def test_change_below_its_threshold_has_no_tone() -> None:
    assert tone("latency_ms", 10.0, 10.1, is_shown=True) == "none"


def test_change_that_is_shown_has_a_tone() -> None:
    assert tone("latency_ms", 10.0, 11.0, is_shown=True) == "bad"


def test_time_of_one_process_against_another_shows_nothing() -> None:
    assert tone("latency_ms", 10.0, 20.0) == "unknown"


def test_count_is_a_fact_of_its_process() -> None:
    assert tone("graph_breaks", 1.0, 2.0) == "bad"


def test_change_that_is_not_shown_is_grey_with_a_question_mark() -> None:
    shown = changed(quiet(change(METRICS["latency_ms"], 10.0, 20.0), METRICS["latency_ms"]))
    assert 'class="change none"' in shown
    assert "? 100% slower" in shown


def test_one_thing_is_singular() -> None:
    assert plural(1, "core") == "1 core"
    assert plural(0, "job") == "0 jobs"
    assert plural(2, "process", "processes") == "2 processes"


def test_comparison_asks_one_question() -> None:
    assert (
        question("2.11.0", "2.13.0", "on h100, track nightly")
        == "Move from 2.11.0 to 2.13.0? On h100, track nightly"
    )
    assert question("h100", "h200", "") == "Move from h100 to h200?"


@pytest.mark.parametrize(
    ("values", "half_widths", "decimals"),
    [
        ([12.3, 4.56], [], 2),
        ([12.3, 4.56], [0.002], 3),
        ([120.0, 4560.0], [float("nan")], 0),
        ([0.0939, float("nan")], [], 4),
        ([1e-7, 1.0], [], None),
        ([], [], 0),
    ],
)
def test_column_has_three_digits_of_its_smallest_value_and_four_where_intervals_allow(
    values: list[float], half_widths: list[float], decimals: int | None
) -> None:
    assert column_decimals(values, half_widths) == decimals


def test_numbers_of_a_column_have_its_decimals() -> None:
    latency = METRICS["latency_ms"]
    assert fixed(latency, 12.3, 2) == "12.30 ms"
    assert fixed(METRICS["speedup"], 1.5, 3) == "1.500×"
    assert fixed(latency, None, 2) == "–"
    assert fixed_interval(latency, 12.3, 12.4, 2) == "12.30 to 12.40 ms"


def test_steps_have_two_digits_that_count() -> None:
    assert quantity(METRICS["break_even_steps"], 627892.0) == "630,000 steps"


def test_count_has_no_decimals_whatever_its_column() -> None:
    assert fixed(METRICS["graph_breaks"], 3.0, 2) == "3"


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (1.2, 3.4, "1.2 to 3.4% slower"),
        (-3.5, 5.3, "3.5% faster to 5.3% slower"),
        (-9.14, -9.06, "9.1% faster"),
        (0.08, 0.12, "0.1% slower"),
    ],
)
def test_interval_in_words_has_one_number_where_its_ends_read_the_same(
    low: float, high: float, text: str
) -> None:
    assert span(METRICS["latency_ms"], low, high) == text
