"""What was measured in turn on one device is compared there, and nothing else is: intervals hold
what they promise whatever devices and days differ by.
"""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from dashboard.comparisons.core.block_effects import Block, difference
from dashboard.comparisons.core.case_samples import CaseSamples
from dashboard.comparisons.core.levels import Level, level_of, merge_levels
from dashboard.comparisons.core.metric_effects import estimate_effects
from dashboard.comparisons.core.ratios import Ratio, estimate_ratios, geomean
from dashboard.judgement.moderation import MIN_CASES
from dashboard.language.metrics import METRICS

Design = list[tuple[int, int]]  # processes of base and of new in each block
Pair = tuple[Level, Level]
TWICE_EACH = [(2, 2), (2, 2)]
ONCE_EACH = [(1, 1), (1, 1), (1, 1)]
UNEVEN = [(5, 1), (1, 2), (2, 0)]
APART = [(3, 0), (0, 3)]
TRUE = 0.03


def draw_pair(
    rng: np.random.Generator, design: Design, spread: float, effects: Sequence[float] | np.ndarray
) -> Pair:
    """Both sides of one case, whose processes differ by `spread`, with heavy tails, and blocks by
    `effects`.
    """
    base: list[Level] = []
    new: list[Level] = []
    for number, (in_base, in_new) in enumerate(design):
        for levels, count, change in ((base, in_base, 0.0), (new, in_new, TRUE)):
            if count:
                noise = spread * rng.standard_t(5, count) / math.sqrt(5 / 3)
                values = np.exp(effects[number] + change + noise).tolist()
                levels.append(level_of(values, block=Block(str(number), "today")))
    return merge_levels(base), merge_levels(new)


def ratios_of(pairs: Sequence[Pair], kinds: Sequence[bool] = ()) -> list[Ratio]:
    return estimate_ratios([base for base, _ in pairs], [new for _, new in pairs], kinds)


def share_that_holds(ratios: Sequence[Ratio], true: float = TRUE) -> float:
    return float(np.mean([abs(ratio.log - true) <= ratio.reach for ratio in ratios]))


@pytest.mark.parametrize("design", [TWICE_EACH, ONCE_EACH, UNEVEN], ids=["2", "1", "uneven"])
@pytest.mark.parametrize("is_common", [True, False])
@pytest.mark.parametrize("apart", [0.0, 0.01, 0.1])
def test_19_of_20_intervals_hold_the_true_change_whatever_blocks_differ_by(
    design: Design, is_common: bool, apart: float
) -> None:
    rng = np.random.default_rng(1)
    ratios, means = [], []
    for _ in range(60):
        common = apart * rng.normal(size=len(design))
        pairs = []
        for _ in range(15):
            own = apart * rng.normal(size=len(design))
            spread = 0.01 * math.exp(rng.normal(0, 0.5))
            pairs.append(draw_pair(rng, design, spread, common if is_common else own))
        of_page = ratios_of(pairs)
        ratios += of_page
        mean = geomean(of_page)
        assert mean
        means.append(mean)
    assert 0.925 < share_that_holds(ratios) < 0.975
    assert share_that_holds(means) > 0.85


def sessions_of(*changes: float) -> Pair:
    """Three processes a side in each, of which the new ones take 1 + change times as long."""
    base: list[Level] = []
    new: list[Level] = []
    for number, change in enumerate(changes):
        block = Block(str(number), "today")
        for levels, factor in ((base, 1.0), (new, 1.0 + change)):
            levels.append(level_of([factor * value for value in (0.98, 1.0, 1.02)], block=block))
    return merge_levels(base), merge_levels(new)


@pytest.mark.parametrize(
    ("changes", "freedom"),
    [
        ((0.3, -0.2, 0.1), 2),  # three values
        ((0.3, 0.301, 0.299), 14),  # the processes' spread is the wider one
        ((0.3, -0.2), 9),  # two sessions are no values
    ],
)
def test_sessions_count_as_values_from_three_on_where_they_differ(
    changes: tuple[float, ...], freedom: int
) -> None:
    base, new = sessions_of(*changes)
    [ratio] = estimate_ratios([base], [new], by_block=[True])
    assert ratio.freedom == freedom
    [of_processes] = estimate_ratios([base], [new])
    assert of_processes.freedom > 2
    assert ratio.reach >= of_processes.reach


def test_sides_that_share_no_block_have_no_interval_and_no_p() -> None:
    rng = np.random.default_rng(2)
    for ratio in ratios_of([draw_pair(rng, APART, 0.01, (0.0, 0.0)) for _ in range(9)]):
        assert ratio.basis == "apart"
        assert not ratio.is_known
        assert math.isnan(ratio.p)


def test_what_was_not_measured_in_turn_is_in_no_common_block() -> None:
    scheduled = level_of([1.0, 1.01, 1.02], block=Block("gpu-0", ""))
    [ratio] = estimate_ratios([scheduled], [scheduled])
    assert ratio.basis == "apart"


def test_one_process_of_a_side_in_their_common_blocks_has_no_interval() -> None:
    rng = np.random.default_rng(3)
    [ratio] = ratios_of([draw_pair(rng, [(5, 1), (0, 4)], 0.01, (0.0, 0.3))])
    assert ratio.basis == "single"
    assert ratio.log == pytest.approx(TRUE, abs=0.05)
    assert not ratio.is_known


def test_processes_of_one_side_alone_on_a_slow_device_do_not_move_the_change() -> None:
    fast, slow = Block("fast", "today"), Block("slow", "today")
    base = merge_levels([level_of([1.0, 1.001], block=fast), level_of([1.5] * 3, block=slow)])
    new = merge_levels([level_of([1.1, 1.101], block=fast)])
    [ratio] = ratios_of([(base, new)])
    assert ratio.percent == pytest.approx(10, abs=0.1)
    # Next to each other the levels of all devices say the opposite
    assert new.value / base.value < 1


def test_in_one_block_it_is_the_plain_difference() -> None:
    rng = np.random.default_rng(4)
    pairs = [draw_pair(rng, [(3, 2)], 0.01, [1.0]) for _ in range(6)]
    for ratio, (base, new) in zip(ratios_of(pairs), pairs, strict=True):
        error = math.sqrt((base.m2 + new.m2) / 3 * (1 / 3 + 1 / 2))
        assert ratio.log == pytest.approx(new.mean - base.mean, abs=1e-12)
        assert ratio.own == pytest.approx((error, 3), rel=1e-9)


def test_difference_is_that_of_least_squares_with_a_constant_for_each_block() -> None:
    rng = np.random.default_rng(5)
    base, new = draw_pair(rng, UNEVEN, 0.01, (0.1, 0.2, 0.3))
    rows, y = [], []
    for is_new, level in enumerate((base, new)):
        for group in level.groups:
            column = np.eye(len(UNEVEN))[int(group.block.device)]
            deviation = math.sqrt(group.m2 / max(group.n, 1))
            signs = [(-1) ** number for number in range(group.n)]
            if group.n % 2:
                signs[-1] = 0
                deviation *= math.sqrt(group.n / max(group.n - 1, 1))
            rows += [[*column, is_new]] * group.n
            y += [group.mean + deviation * sign for sign in signs]
    solution, squares, *_ = np.linalg.lstsq(np.array(rows, dtype=float), np.array(y), rcond=None)
    result = difference(base.groups, new.groups)
    assert result
    assert result.log == pytest.approx(solution[-1], abs=1e-12)
    assert result.squares == pytest.approx(squares[0], rel=1e-9)
    assert result.freedom == len(y) - len(UNEVEN) - 1


def test_equal_values_in_two_blocks_have_no_spread() -> None:
    same = merge_levels([level_of([1.0, 1.0], block=Block(device, "today")) for device in "ab"])
    ratios = ratios_of([(same, same)] * 5)
    assert [ratio.log for ratio in ratios] == [0.0] * 5
    assert [ratio.error for ratio in ratios] == [0.0] * 5


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
        blocks = [Block(device, "today") for device in devices]
        level = merge_levels([level_of([1.0, 1.01], block=block) for block in blocks])
        return CaseSamples(1, (), level, level.n, 1.0, 1.01, 1.005)

    [effect] = estimate_effects([(samples(base), samples(new))], METRICS["latency_ms"])
    assert effect.devices == words


# --- Kinds of cases ---


def test_cases_of_a_kind_that_repeats_well_do_not_pay_for_those_that_do_not() -> None:
    rng = np.random.default_rng(7)
    spreads = [0.005] * 11 + [0.05] * 10
    pairs = [draw_pair(rng, [(2, 2)], spread, [0.0]) for spread in spreads]
    with_kinds = [ratio.reach for ratio in ratios_of(pairs, [True] * 11 + [False] * 10)[:11]]
    without_kinds = [ratio.reach for ratio in ratios_of(pairs)[:11]]
    assert np.median(with_kinds) < 0.75 * np.median(without_kinds)


def test_kind_of_few_cases_takes_the_spread_of_all() -> None:
    rng = np.random.default_rng(8)
    pairs = [draw_pair(rng, [(2, 2)], 0.01, [0.0]) for _ in range(9)]
    with_few = ratios_of(pairs, [True] * 6 + [False] * (MIN_CASES - 1))
    without_kinds = ratios_of(pairs)
    assert [ratio.error for ratio in with_few[6:]] == [ratio.error for ratio in without_kinds[6:]]


# --- Within a process ---


def test_process_with_few_samples_does_not_blur_a_comparison_of_many() -> None:
    rng = np.random.default_rng(9)
    errors = [0.01] * 9 + [0.45]

    def level() -> Level:
        return level_of(np.exp(rng.normal(0, 0.01, 10)).tolist(), errors)

    pairs = [(level(), level()) for _ in range(6)]
    assert max(ratio.reach for ratio in ratios_of(pairs)) < 0.02


@pytest.mark.parametrize("sizes", [(2, 2, 2), (6, 3, 2, 1), (6, 1, 1)], ids=str)
def test_19_of_20_intervals_hold_where_each_session_has_a_change_of_its_own(
    sizes: tuple[int, ...],
) -> None:
    """However many processes each has."""
    rng = np.random.default_rng(6)
    pairs = []
    for _ in range(1500):
        base: list[Level] = []
        new: list[Level] = []
        for number, count in enumerate(sizes):
            own = TRUE + 0.3 * rng.normal()
            for levels, middle in ((base, 0.0), (new, own)):
                values = np.exp(middle + 0.1 * rng.normal(size=count)).tolist()
                levels.append(level_of(values, block=Block(str(number), "today")))
        pairs.append((merge_levels(base), merge_levels(new)))
    ratios = [estimate_ratios([base], [new], by_block=[True])[0] for base, new in pairs]
    assert 0.92 < float(np.mean([_holds(ratio) for ratio in ratios])) < 0.98


def _holds(ratio: Ratio) -> bool:
    """By its interval, whether or not it is too wide to be shown."""
    return bool(abs(ratio.log - TRUE) <= ratio.error * stats.t.ppf(0.975, ratio.freedom))
