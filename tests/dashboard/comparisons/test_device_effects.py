"""What ran on the same device is compared there: intervals hold what they promise, and are narrower
than without.
"""

import math

import numpy as np
import pytest

from dashboard.comparisons.core.device_effects import (
    MIN_CASES,
    DeviceGroup,
    device_variance_ratio,
    sufficient_statistics,
)
from dashboard.comparisons.core.levels import Level, level_of, merge_levels
from dashboard.comparisons.core.metric_effects import CaseSamples, estimate_effects
from dashboard.comparisons.core.ratios import Ratio, estimate_ratios, geomean
from dashboard.language.metrics import METRICS

Design = list[tuple[int, int]]  # processes of base and of new on each device
TWICE_EACH = [(2, 2), (2, 2)]
ONCE_EACH = [(1, 1), (1, 1), (1, 1)]
UNEVEN = [(5, 1), (1, 2), (2, 0)]
RECORDED = [
    [(1, 1)],
    [(1, 0), (1, 1), (1, 1)],
    [(1, 0), (1, 1), (1, 1), (1, 0)],
    [(9, 1), (18, 0)],
    [(1, 1), (1, 1)],
]
TRUE = 0.03


def drawn(
    rng: np.random.Generator, design: Design, spread: float, devices: float
) -> tuple[Level, Level]:
    """Both sides of one case, whose processes differ by `spread`, with heavy tails, and devices by
    `devices`.
    """
    sides: tuple[list[Level], list[Level]] = ([], [])
    for number, counts in enumerate(design):
        middle = devices * rng.normal()
        for side, count, change in zip(sides, counts, (0.0, TRUE), strict=True):
            if count:
                noise = spread * rng.standard_t(5, count) / math.sqrt(5 / 3)
                side.append(level_of(np.exp(middle + change + noise).tolist(), device=str(number)))
    return merge_levels(sides[0]), merge_levels(sides[1])


def together(one: Level) -> Level:
    """Without saying which device it ran on."""
    return Level(*one[:4])


def repeated(designs: list[Design], devices: float, seed: int) -> tuple[list[Ratio], list[Ratio]]:
    """(ratios that know the devices, ratios that do not) of many drawings of 15 cases; devices: by
    how much they differ, in units of what processes on one do.
    """
    rng, known, unknown = np.random.default_rng(seed), [], []
    for _ in range(80):
        spread = 0.01 * np.exp(rng.normal(0, 0.5, 15))
        apart = devices * spread * np.exp(rng.normal(0, 0.5, 15))
        pairs = [
            drawn(rng, designs[case % len(designs)], spread[case], apart[case])
            for case in range(15)
        ]
        base, new = zip(*pairs, strict=True)
        known += estimate_ratios(base, new)
        unknown += estimate_ratios([together(one) for one in base], [together(one) for one in new])
    return known, unknown


def held(found: list[Ratio]) -> float:
    return float(np.mean([abs(one.log - TRUE) <= one.reach for one in found]))


def half(found: list[Ratio]) -> float:
    return float(np.median([one.reach for one in found]))


@pytest.mark.parametrize(
    "designs", [[TWICE_EACH], [ONCE_EACH], [UNEVEN], RECORDED], ids=["2", "1", "uneven", "h100"]
)
@pytest.mark.parametrize(("devices", "narrower"), [(0.0, 1.02), (1.0, 0.92), (3.0, 0.6)])
def test_19_of_20_intervals_hold_the_true_change_whatever_devices_differ_by(
    designs: list[Design], devices: float, narrower: float
) -> None:
    known, unknown = repeated(designs, devices, 1)
    assert 0.925 < held(known) < 0.975
    assert half(known) < half(unknown) * narrower


def test_intervals_that_do_not_know_devices_are_too_wide_in_turn_and_too_narrow_where_a_side_has_its_own() -> (
    None
):
    _, unknown = repeated([ONCE_EACH], 3.0, 2)
    assert held(unknown) > 0.99
    mixed, blind = repeated([TWICE_EACH, TWICE_EACH, [(3, 0), (0, 3)]], 3.0, 3)
    assert held(blind) < 0.85
    assert held(mixed) > 0.91


def test_processes_of_one_side_alone_on_a_slow_device_do_not_move_the_change() -> None:
    def case(number: int) -> tuple[Level, Level]:
        wobble = 1 + 0.002 * math.sin(number)
        fast = (
            level_of([1.0 * wobble, 1.001], device="fast"),
            level_of([1.1, 1.1 * wobble], device="fast"),
        )
        slow = level_of([1.5, 1.501, 1.5 * wobble], device="slow")
        return merge_levels([fast[0], slow]), merge_levels(
            [fast[1], level_of([1.65], device="slow")]
        )

    base, new = zip(*[case(number) for number in range(MIN_CASES)], strict=True)
    for one, old, fresh in zip(estimate_ratios(base, new), base, new, strict=True):
        assert one.percent == pytest.approx(10, abs=0.4)
        # Side by side the levels of all devices say the opposite
        assert fresh.value / old.value < 1


def test_on_one_device_it_is_the_plain_difference() -> None:
    rng = np.random.default_rng(4)
    pairs = [drawn(rng, [(3, 2)], 0.01, 1.0) for _ in range(6)]
    base, new = zip(*pairs, strict=True)
    for one, old, fresh in zip(estimate_ratios(base, new), base, new, strict=True):
        assert one.log == pytest.approx(fresh.mean - old.mean, abs=1e-12)
        assert one.unmoderated[0] == pytest.approx(
            math.sqrt((old.m2 + fresh.m2) / 3 * (1 / 3 + 1 / 2)), rel=1e-9
        )


@pytest.mark.parametrize(("cases", "design"), [(MIN_CASES - 1, TWICE_EACH), (15, [(3, 0), (0, 3)])])
def test_too_few_cases_or_sides_apart_say_nothing_of_devices(cases: int, design: Design) -> None:
    rng = np.random.default_rng(5)
    pairs = [drawn(rng, design, 0.01, 0.03) for _ in range(cases)]
    assert (
        device_variance_ratio(
            sufficient_statistics(
                [one.device_groups for one, _ in pairs], [one.device_groups for _, one in pairs]
            )
        )
        == 0
    )


def test_how_much_devices_differ_is_found_from_many_cases() -> None:
    rng = np.random.default_rng(6)
    pairs = [drawn(rng, TWICE_EACH, 0.01, 0.02) for _ in range(300)]
    found = device_variance_ratio(
        sufficient_statistics(
            [one.device_groups for one, _ in pairs], [one.device_groups for _, one in pairs]
        )
    )
    assert found == pytest.approx(4, rel=0.25)


def test_equal_values_on_two_devices_have_no_spread() -> None:
    same = Level(
        4, 0.0, 0.0, math.nan, (DeviceGroup("a", 2, 0.0, 0.0), DeviceGroup("b", 2, 0.0, 0.0))
    )
    assert [one.log for one in estimate_ratios([same] * 5, [same] * 5)] == [0.0] * 5


@pytest.mark.parametrize(
    ("base", "new", "words"),
    [
        ("a", "a", ""),
        ("ab", "ab", "on the same 2 devices"),
        ("abc", "b", "1 of 3 devices shared"),
        ("a", "b", "on different devices"),
    ],
)
def test_a_change_says_on_which_devices_it_was_measured(base: str, new: str, words: str) -> None:
    def part(devices: str) -> CaseSamples:
        values = [level_of([1.0, 1.01], device=device) for device in devices]
        return CaseSamples(1, (), merge_levels(values), 2 * len(devices), 1.0, 1.01, 1.005)

    [found] = estimate_effects([(part(base), part(new))], METRICS["latency_ms"])
    assert found.devices == words


# --- Kinds of cases
# --------------------------------------------------------------------------------------------------
def test_cases_of_a_kind_that_repeats_well_do_not_pay_for_those_that_do_not() -> None:
    rng = np.random.default_rng(7)
    spread = [0.005] * 10 + [0.2] * 10
    pairs = [drawn(rng, [(2, 2)], one, 0.0) for one in spread] + [drawn(rng, [(1, 1)], 0.005, 0.0)]
    base, new = zip(*pairs, strict=True)
    kinds = [True] * 10 + [False] * 10 + [True]
    alike, mixed = estimate_ratios(base, new, kinds)[-1], estimate_ratios(base, new)[-1]
    assert 0.01 < alike.reach < 0.03 < mixed.reach


def test_a_kind_of_few_cases_takes_the_spread_of_all() -> None:
    rng = np.random.default_rng(8)
    base, new = zip(*[drawn(rng, [(2, 2)], 0.01, 0.0) for _ in range(9)], strict=True)
    few = [True] * 6 + [False] * (MIN_CASES - 1)
    assert [one.error for one in estimate_ratios(base, new, few)][6:] == [
        one.error for one in estimate_ratios(base, new)
    ][6:]


def test_a_case_that_may_be_anything_makes_a_mean_with_it_as_unsure() -> None:
    rng = np.random.default_rng(10)
    repeated = [drawn(rng, [(3, 3)], spread, 0.0) for spread in (0.002, 0.002, 0.3, 0.3, 0.3)]
    base, new = zip(*repeated, (level_of([1.0]), level_of([0.7])), strict=True)
    *_, once = estimate_ratios(base, new)
    mean = geomean([*estimate_ratios(base, new)[:2], once])
    assert mean
    assert once.basis == "borrowed"
    assert mean.reach >= min(once.reach / 3, 0.3)


# --- Within a process
# -------------------------------------------------------------------------------------------------
def test_one_process_with_few_samples_does_not_blur_a_comparison_of_many() -> None:
    rng = np.random.default_rng(9)
    errors = [0.01] * 9 + [0.45]
    pairs = [
        [level_of(np.exp(rng.normal(0, 0.01, 10)).tolist(), errors) for _ in range(2)]
        for _ in range(6)
    ]
    base, new = zip(*pairs, strict=True)
    assert max(one.reach for one in estimate_ratios(base, new)) < 0.02
