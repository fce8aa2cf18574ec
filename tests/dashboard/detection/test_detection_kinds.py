"""Each kind of series gets the right test."""

import numpy as np
import pytest

from dashboard.detection import Point, Settings, status_value
from tests.builders.detection import points, reports


def places(values: list[float], settings: Settings) -> list[tuple[int, int]]:
    """First point of each new level, and the point with which it was reported."""
    reported = reports(points(values), settings)
    return [(report.verdict.index, report.seen_at) for report in reported]


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([4.0] * 20 + [4.2] * 3, "continuous", [(20, 20)]),
        # So few may be equal by chance, where values are rounded
        ([4.0] * 8 + [4.2] * 3, "continuous", [(8, 10)]),
        ([4.0] * 8 + [4.2] * 3, "constant", [(8, 8)]),
        ([4.0] * 8 + [4.01] * 30, "constant", []),
        ([4.0] * 2 + [4.2] * 3, "constant", []),
        ([2.0] * 8 + [3.0] * 3, "count", [(8, 8)]),
        ([2.0] * 8 + [3.0] * 3 + [0.0] * 2, "count", [(8, 8), (11, 11)]),
        ([0.0] * 8 + [1.0], "count", [(8, 8)]),
        (
            [2.0] * 8 + [3.0] + [2.0] * 9 + [3.0] * 3,
            "count",
            [
                (8, 8),
                (9, 9),
                (18, 20),
            ],
        ),
        ([0.0, 0.0, 1.0, 1.0], "status", [(2, 2)]),
        ([0.0, 1.0, 0.0], "status", [(1, 1), (2, 2)]),
        ([0.0], "status", []),
    ],
)
def test_series_that_holds_a_value_needs_one_point(
    values: list[float], kind: str, expected: list[tuple[int, int]]
) -> None:
    assert places(values, Settings(kind=kind)) == expected  # type: ignore[arg-type]


def test_memory_with_a_little_jitter_still_needs_one_point() -> None:
    values = 4 + 0.001 * np.random.default_rng(1).normal(size=40)
    values[30:] += 0.2
    assert places(values.tolist(), Settings(kind="constant")) == [(30, 30)]


def test_change_of_less_than_the_least_is_not_reported() -> None:
    values = [0.0050] * 20 + [0.0061] * 20
    assert places(values, Settings(kind="constant", least=0.002)) == []
    assert places(values, Settings(kind="constant", least=0.001)) == [(20, 20)]


def test_counts_that_vary_are_judged_by_their_own_noise() -> None:
    generator = np.random.default_rng(1)
    values = np.concatenate([generator.poisson(4, 60), generator.poisson(14, 20)]).astype(float)
    ((index, seen_at),) = places(values.tolist(), Settings(kind="count"))
    assert index == 60
    assert seen_at <= 63


def test_failing_status_is_reported_at_once() -> None:
    words = ["pass", "pass", "fail_accuracy"]
    values = [status_value(word) for word in words]
    assert places(values, Settings(kind="status")) == [(2, 2)]


def test_unknown_status_word_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="flaky"):
        status_value("flaky")


def test_negative_count_is_refused() -> None:
    values = [float(value % 7) for value in range(30)]
    with pytest.raises(ValueError, match="count is -1"):
        reports(points([*values, -1.0]), Settings(kind="count"))


def test_failed_case_has_no_point() -> None:
    with pytest.raises(ValueError, match="leave its point out"):
        Point(float("nan"), None, None, 7)


@pytest.mark.parametrize("wrong", [{"kind": "latency"}, {"threshold_percent": -1.0}])
def test_settings_refuse_what_they_do_not_know(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"Settings\."):
        Settings(**wrong)  # type: ignore[arg-type]


def test_change_is_reported_where_the_segment_began_after_the_value_was_left() -> None:
    """The held value is left by too little, then a step begins a segment, then the value jumps."""
    rng = np.random.default_rng(0)
    values = np.concatenate(
        [
            np.full(400, 4.0),
            4.02 + 0.004 * rng.normal(size=40),
            4.072 + 0.0008 * rng.normal(size=5),
            4.3 + 0.024 * rng.normal(size=30),
        ]
    )
    reported = places(values.tolist(), Settings(kind="constant"))
    assert 445 in [seen_at for _, seen_at in reported]
