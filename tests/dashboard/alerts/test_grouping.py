"""Suspicions that count, where they belong, and how a group is called."""

from dataclasses import replace

import pytest

from dashboard.alerts.core.grouping import (
    OpenGroup,
    Suspicion,
    cause_of,
    choose_group,
    direction_of,
    representatives,
    sentence,
    severity_of,
    significant,
    title,
)

SLOWER = Suspicion(
    1,
    "sd_unet",
    "inference",
    "sd_unet.smoke.inference.float32.static.b1",
    "inductor",
    "latency_ms",
    "regression",
    6.2,
    5.1,
    7.4,
    "percent",
    0.0005,
)
LIGHTER = replace(
    SLOWER,
    key=2,
    metric="peak_memory_gb",
    direction="improvement",
    effect=-8.0,
)
FAILS = replace(
    SLOWER,
    key=3,
    metric="passed",
    effect=1.0,
    unit="difference",
    words=("pass", "fail_accuracy"),
    false_alarm_share=0.000006,
)
OTHER = replace(
    SLOWER, key=4, model="gpt2", benchmark="gpt2.smoke.training.float32.static.b2", mode="training"
)


def test_the_title_says_which_model_what_by_how_much_where_and_since_when() -> None:
    expected = "sd_unet inference: 6.2% slower in inductor since 2.13.0"
    assert title([SLOWER], "since 2.13.0") == expected


@pytest.mark.parametrize(
    ("levels", "said"),
    [((5.1e-8, 1.24e-7), "drift from 5.100×10⁻⁸ to 1.240×10⁻⁷"), (None, "drift 145% higher")],
)
def test_drift_is_said_by_its_levels(levels: tuple[float, float] | None, said: str) -> None:
    """Near float32's rounding error, 145% of it is nothing."""
    drift = replace(SLOWER, metric="drift", effect=145.0, low=145.0, high=145.0, levels=levels)
    assert sentence(drift) == said


def test_the_title_says_how_many_more_there_are() -> None:
    expected = "sd_unet inference and 1 more: 6.2% slower in inductor since 2.13.0"
    assert title([SLOWER, replace(OTHER, effect=3.0)], "since 2.13.0") == expected


def test_a_status_change_and_its_speed_change_are_one_line() -> None:
    changes = "accuracy failed (was passed), 6.2% slower"
    expected = f"sd_unet inference: {changes} in inductor since 2.13.0"
    assert title([SLOWER, FAILS], "since 2.13.0") == expected


def test_title_of_a_trade_off_names_both_sides() -> None:
    expected = "sd_unet inference: 6.2% slower, but 8.0% less memory in inductor"
    assert title([SLOWER, LIGHTER], "") == expected


def test_several_configs_are_listed_and_many_are_counted() -> None:
    many = [
        replace(SLOWER, key=at, config=name)
        for at, name in enumerate(("aot", "inductor", "regional", "wide"))
    ]
    assert title(many, "").endswith(" in aot, inductor and 2 more configs")


@pytest.mark.parametrize(
    ("suspicion", "expected"),
    [
        (replace(SLOWER, metric="cold_start_s", effect=30.0), "cold start 30.0% longer"),
        (replace(SLOWER, metric="device_ms", effect=2.1), "device time 2.1% slower"),
        (
            replace(SLOWER, metric="graph_breaks", effect=2.0, unit="difference"),
            "2 more graph breaks",
        ),
        (replace(SLOWER, metric="drift", effect=120.0), "drift 120% higher"),
        (FAILS, "accuracy failed (was passed)"),
        (replace(SLOWER, effect=455.0, low=79.3, high=1616.0), "at least 79.3% slower"),
        (replace(LIGHTER, effect=-12.8, low=-21.3, high=-3.5), "at least 3.5% less memory"),
        (replace(SLOWER, effect=20.0, low=10.0, high=30.0), "20% slower"),
        (replace(SLOWER, effect=6.2, low=-1.0, high=13.4), "6% slower"),
        (replace(SLOWER, effect=6.2, low=0.01, high=12.4), "6.2% slower"),
        (replace(SLOWER, low=None, high=None), "6.2% slower"),
    ],
)
def test_each_metric_has_its_own_sentence(suspicion: Suspicion, expected: str) -> None:
    assert sentence(suspicion) == expected


def test_one_weak_suspicion_among_many_series_is_not_significant() -> None:
    assert significant([replace(SLOWER, false_alarm_share=0.001)], tests=200) == set()


def test_one_strong_suspicion_among_many_series_is_significant() -> None:
    assert significant([replace(SLOWER, false_alarm_share=0.00001)], tests=200) == {1}


def test_several_weak_suspicions_are_significant_together() -> None:
    weak = [replace(SLOWER, key=at, false_alarm_share=0.001) for at in range(3)]
    assert significant(weak, tests=200) == {0, 1, 2}


def test_the_discoveries_are_the_largest_rank_that_passes() -> None:
    shares = (0.0001, 0.0011, 0.0012, 0.5)
    suspicions = [
        replace(SLOWER, key=key, false_alarm_share=share) for key, share in enumerate(shares)
    ]
    assert significant(suspicions, tests=300) == {0}
    assert significant(suspicions, tests=200) == {0, 1, 2}


def test_the_same_case_joins_whatever_its_direction() -> None:
    group = OpenGroup(7, "compiler", "improvement", frozenset({SLOWER.case}))
    assert choose_group(SLOWER, [group]) == 7


def test_the_same_cause_and_direction_join() -> None:
    groups = [
        OpenGroup(7, "eager", "regression", frozenset()),
        OpenGroup(8, "compiler", "improvement", frozenset()),
        OpenGroup(9, "compiler", "regression", frozenset()),
    ]
    assert choose_group(replace(OTHER, cause="compiler"), groups) == 9


def test_eager_and_the_compiled_case_that_it_slows_are_one_change() -> None:
    eager = replace(SLOWER, config="eager")
    of_compiled = OpenGroup(7, "eager", "regression", frozenset({SLOWER.case}))
    of_eager = OpenGroup(7, "unknown", "regression", frozenset({eager.case}))
    assert choose_group(eager, [of_compiled]) == 7
    assert choose_group(replace(SLOWER, cause="eager"), [of_eager]) == 7
    assert choose_group(replace(SLOWER, cause="compiler"), [of_eager]) is None


def test_another_cause_is_another_group() -> None:
    group = OpenGroup(7, "compiler", "regression", frozenset())
    assert choose_group(replace(OTHER, cause="eager"), [group]) is None


def test_the_cause_of_a_group_is_what_most_have_evidence_for() -> None:
    causes = ("unknown", "unknown", "compiler", "compiler", "eager")
    assert cause_of([replace(SLOWER, cause=cause) for cause in causes]) == "compiler"
    assert cause_of([SLOWER]) == "unknown"


def test_better_and_worse_are_a_trade_off() -> None:
    assert direction_of([SLOWER, LIGHTER]) == "trade_off"
    assert direction_of([LIGHTER]) == "improvement"


@pytest.mark.parametrize(
    ("suspicions", "severity"),
    [
        ([replace(SLOWER, effect=3.0)], "low"),
        ([SLOWER], "medium"),
        ([replace(SLOWER, effect=12.0)], "high"),
        ([FAILS], "high"),
        ([replace(LIGHTER, effect=-50.0)], "low"),
        ([replace(SLOWER, effect=3.0, config=str(at)) for at in range(5)], "medium"),
    ],
)
def test_severity_follows_the_worst_and_how_many(
    suspicions: list[Suspicion], severity: str
) -> None:
    assert severity_of(suspicions) == severity


@pytest.mark.parametrize(
    ("metric", "percent", "severity"),
    [
        ("device_ms", 3.0, "low"),
        ("device_ms", 6.0, "medium"),
        ("device_ms", 12.0, "high"),
        ("compile_calls", 5.0, "low"),
        ("compile_calls", 30.0, "medium"),
    ],
)
def test_severity_of_what_repeats_well_is_that_of_the_time_it_is_part_of(
    metric: str, percent: float, severity: str
) -> None:
    assert severity_of([replace(SLOWER, metric=metric, effect=percent)]) == severity


def test_group_without_a_significant_suspicion_is_of_low_severity() -> None:
    assert severity_of([FAILS], passing=False) == "low"


def test_surest_suspicion_of_each_case_represents_the_group() -> None:
    more = [
        replace(
            OTHER,
            key=at,
            config=str(at),
            false_alarm_share=0.0001 * at,
        )
        for at in range(4, 8)
    ]
    assert representatives([SLOWER, LIGHTER, FAILS, *more]) == [3, 4, 5]
