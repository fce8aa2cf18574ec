"""What ran on the same device is compared there: intervals hold what they promise, and are narrower
than without.
"""

import math
from collections.abc import Sequence

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
Pair = tuple[Level, Level]
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


def draw_pair(rng: np.random.Generator, design: Design, spread: float, devices: float) -> Pair:
    """Both sides of one case, whose processes differ by `spread`, with heavy tails, and devices by
    `devices`.
    """
    base: list[Level] = []
    new: list[Level] = []
    for device, (in_base, in_new) in enumerate(design):
        middle = devices * rng.normal()
        for levels, count, change in ((base, in_base, 0.0), (new, in_new, TRUE)):
            if count:
                noise = spread * rng.standard_t(5, count) / math.sqrt(5 / 3)
                values = np.exp(middle + change + noise).tolist()
                levels.append(level_of(values, device=str(device)))
    return merge_levels(base), merge_levels(new)


def ratios_of(pairs: Sequence[Pair], kinds: Sequence[bool] = ()) -> list[Ratio]:
    return estimate_ratios([base for base, _ in pairs], [new for _, new in pairs], kinds)


def device_variance_of(pairs: Sequence[Pair]) -> float:
    statistics = sufficient_statistics(
        [base.device_groups for base, _ in pairs], [new.device_groups for _, new in pairs]
    )
    return device_variance_ratio(statistics)


def without_devices(level: Level) -> Level:
    return Level(level.n, level.mean, level.m2, level.within)


def simulate(designs: list[Design], devices: float, seed: int) -> tuple[list[Ratio], list[Ratio]]:
    """(ratios aware of the devices, ratios blind to them) of many drawings of 15 cases; devices: by
    how much they differ, in units of what processes on one do.
    """
    rng = np.random.default_rng(seed)
    aware, blind = [], []
    for _ in range(80):
        spread = 0.01 * np.exp(rng.normal(0, 0.5, 15))
        apart = devices * spread * np.exp(rng.normal(0, 0.5, 15))
        pairs = []
        for case in range(15):
            design = designs[case % len(designs)]
            pairs.append(draw_pair(rng, design, spread[case], apart[case]))
        aware += ratios_of(pairs)
        blind += ratios_of([(without_devices(base), without_devices(new)) for base, new in pairs])
    return aware, blind


def share_that_holds(ratios: list[Ratio]) -> float:
    return float(np.mean([abs(ratio.log - TRUE) <= ratio.reach for ratio in ratios]))


def median_reach(ratios: list[Ratio]) -> float:
    return float(np.median([ratio.reach for ratio in ratios]))


@pytest.mark.parametrize(
    "designs", [[TWICE_EACH], [ONCE_EACH], [UNEVEN], RECORDED], ids=["2", "1", "uneven", "h100"]
)
@pytest.mark.parametrize(("devices", "narrower"), [(0.0, 1.02), (1.0, 0.92), (3.0, 0.6)])
def test_19_of_20_intervals_hold_the_true_change_whatever_devices_differ_by(
    designs: list[Design], devices: float, narrower: float
) -> None:
    aware, blind = simulate(designs, devices, 1)
    assert 0.925 < share_that_holds(aware) < 0.975
    assert median_reach(aware) < median_reach(blind) * narrower


def test_intervals_blind_to_devices_are_too_wide_where_sides_took_turns() -> None:
    _, blind = simulate([ONCE_EACH], 3.0, 2)
    assert share_that_holds(blind) > 0.99


def test_intervals_blind_to_devices_are_too_narrow_where_a_side_has_its_own() -> None:
    aware, blind = simulate([TWICE_EACH, TWICE_EACH, [(3, 0), (0, 3)]], 3.0, 3)
    assert share_that_holds(blind) < 0.85
    assert share_that_holds(aware) > 0.91


def test_processes_of_one_side_alone_on_a_slow_device_do_not_move_the_change() -> None:
    pairs = []
    for number in range(MIN_CASES):
        wobble = 1 + 0.002 * math.sin(number)
        base_fast = level_of([1.0 * wobble, 1.001], device="fast")
        base_slow = level_of([1.5, 1.501, 1.5 * wobble], device="slow")
        new_fast = level_of([1.1, 1.1 * wobble], device="fast")
        new_slow = level_of([1.65], device="slow")
        pairs.append((merge_levels([base_fast, base_slow]), merge_levels([new_fast, new_slow])))

    for ratio, (base, new) in zip(ratios_of(pairs), pairs, strict=True):
        assert ratio.percent == pytest.approx(10, abs=0.4)
        # Next to each other the levels of all devices say the opposite
        assert new.value / base.value < 1


def test_on_one_device_it_is_the_plain_difference() -> None:
    rng = np.random.default_rng(4)
    pairs = [draw_pair(rng, [(3, 2)], 0.01, 1.0) for _ in range(6)]
    for ratio, (base, new) in zip(ratios_of(pairs), pairs, strict=True):
        error = math.sqrt((base.m2 + new.m2) / 3 * (1 / 3 + 1 / 2))
        assert ratio.log == pytest.approx(new.mean - base.mean, abs=1e-12)
        assert ratio.unmoderated[0] == pytest.approx(error, rel=1e-9)


@pytest.mark.parametrize(("cases", "design"), [(MIN_CASES - 1, TWICE_EACH), (15, [(3, 0), (0, 3)])])
def test_too_few_cases_or_sides_apart_say_nothing_of_devices(cases: int, design: Design) -> None:
    rng = np.random.default_rng(5)
    pairs = [draw_pair(rng, design, 0.01, 0.03) for _ in range(cases)]
    assert device_variance_of(pairs) == 0


def test_device_variance_is_found_from_many_cases() -> None:
    rng = np.random.default_rng(6)
    pairs = [draw_pair(rng, TWICE_EACH, 0.01, 0.02) for _ in range(300)]
    assert device_variance_of(pairs) == pytest.approx(4, rel=0.25)


def test_equal_values_on_two_devices_have_no_spread() -> None:
    groups = (DeviceGroup("a", 2, 0.0, 0.0), DeviceGroup("b", 2, 0.0, 0.0))
    same = Level(4, 0.0, 0.0, math.nan, groups)
    assert [ratio.log for ratio in ratios_of([(same, same)] * 5)] == [0.0] * 5


@pytest.mark.parametrize(
    ("base", "new", "words"),
    [
        ("a", "a", ""),
        ("ab", "ab", "on the same 2 devices"),
        ("abc", "b", "1 of 3 devices shared"),
        ("a", "b", "on different devices"),
    ],
)
def test_change_says_on_which_devices_it_was_measured(base: str, new: str, words: str) -> None:
    def samples(devices: str) -> CaseSamples:
        level = merge_levels([level_of([1.0, 1.01], device=device) for device in devices])
        return CaseSamples(1, (), level, level.n, 1.0, 1.01, 1.005)

    [effect] = estimate_effects([(samples(base), samples(new))], METRICS["latency_ms"])
    assert effect.devices == words


# --- Kinds of cases ---


def test_cases_of_a_kind_that_repeats_well_do_not_pay_for_those_that_do_not() -> None:
    rng = np.random.default_rng(7)
    spreads = [0.005] * 10 + [0.2] * 10
    pairs = [draw_pair(rng, [(2, 2)], spread, 0.0) for spread in spreads]
    pairs.append(draw_pair(rng, [(1, 1)], 0.005, 0.0))
    with_kinds = ratios_of(pairs, [True] * 10 + [False] * 10 + [True])[-1]
    without_kinds = ratios_of(pairs)[-1]
    assert 0.01 < with_kinds.reach < 0.03 < without_kinds.reach


def test_kind_of_few_cases_takes_the_spread_of_all() -> None:
    rng = np.random.default_rng(8)
    pairs = [draw_pair(rng, [(2, 2)], 0.01, 0.0) for _ in range(9)]
    with_few = ratios_of(pairs, [True] * 6 + [False] * (MIN_CASES - 1))
    without_kinds = ratios_of(pairs)
    assert [ratio.error for ratio in with_few[6:]] == [ratio.error for ratio in without_kinds[6:]]


def test_case_that_may_be_anything_makes_a_mean_with_it_as_unsure() -> None:
    rng = np.random.default_rng(10)
    spreads = (0.002, 0.002, 0.3, 0.3, 0.3)
    pairs = [draw_pair(rng, [(3, 3)], spread, 0.0) for spread in spreads]
    first, second, *_, once = ratios_of([*pairs, (level_of([1.0]), level_of([0.7]))])
    mean = geomean([first, second, once])
    assert mean
    assert once.basis == "borrowed"
    assert mean.reach >= min(once.reach / 3, 0.3)


# --- Within a process ---


def test_process_with_few_samples_does_not_blur_a_comparison_of_many() -> None:
    rng = np.random.default_rng(9)
    errors = [0.01] * 9 + [0.45]

    def level() -> Level:
        return level_of(np.exp(rng.normal(0, 0.01, 10)).tolist(), errors)

    pairs = [(level(), level()) for _ in range(6)]
    assert max(ratio.reach for ratio in ratios_of(pairs)) < 0.02
