"""Which factor moved a number: the algebra against textbooks, SciPy and brute force, what the arms
cannot show, and the words.
"""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
import scipy

from dashboard.catalog.core.plan import PlanError
from dashboard.comparisons.core.factorial import ArmProcess, MetricAnalysis, analyse, judge
from dashboard.comparisons.core.factorial_arms import (
    factors_of,
    fewest_processes,
    refused_library,
)
from dashboard.comparisons.core.factorial_design import (
    Cell,
    Factor,
    all_cells,
    design_row,
    estimable_effects,
)
from dashboard.comparisons.core.factorial_words import answer, exchange_text, scope_text
from dashboard.language.metrics import METRICS

TWO = [Factor("torch", ("2.9.0", "2.10.0")), Factor("cuda", ("cu128", "cu130"))]
THREE = [*TWO, Factor("transformers", ("4.57.6", "5.23.0"))]
LATENCY, DEVICE, MEMORY = (METRICS[key] for key in ("latency_ms", "device_ms", "peak_memory_gb"))
# Montgomery, Design and Analysis of Experiments, the 2² design of a chemical process: its yields at
# low and high concentration of the reactant, low and high amount of the catalyst
YIELDS: dict[Cell, list[float]] = {
    (0, 0): [28, 25, 27],
    (1, 0): [36, 32, 32],
    (0, 1): [18, 19, 23],
    (1, 1): [31, 30, 29],
}


def processes(values: dict[Cell, list[float]], *, rounds: bool = False) -> list[ArmProcess]:
    """rounds: the n-th of each arm in the same block; else all in one."""
    made = []
    for cell, logs in values.items():
        for number, log in enumerate(logs):
            made.append(ArmProcess(cell, number if rounds else 0, log))
    return made


def drawn(
    factors: Sequence[Factor],
    cells: Sequence[Cell],
    rounds: int,
    *,
    seed: int = 1,
    spread: float = 0.01,
    truth: Sequence[float] = (),
) -> list[ArmProcess]:
    """Processes of normal error in rounds that differ by 5%. truth: the model's parameters."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(rounds):
        level = rng.normal(0, 0.05)
        for cell in cells:
            log = level + rng.normal(0, spread)
            if truth:
                log += float(design_row(factors, cell) @ np.array(truth))
            made.append(ArmProcess(cell, number, float(log)))
    return made


def names(factors: Sequence[Factor], analysis: MetricAnalysis) -> list[str]:
    return [exchange_text(factors, effect.contrast) for effect in analysis.effects]


# --- The algebra ---


def test_effects_are_those_of_the_textbook() -> None:
    """Its interaction, 1.67, is half of the difference of the two differences."""
    effects = analyse(TWO, processes(YIELDS), LATENCY).effects
    assert [effect.ratio.log for effect in effects] == pytest.approx(
        [8.33, -5.0, 2 * 1.67], abs=1e-2
    )


def test_error_is_that_of_the_textbook() -> None:
    """Its mean square of the error is 3.92, with 8 degrees of freedom."""
    first = analyse(TWO, processes(YIELDS), LATENCY).effects[0].ratio
    assert first.error == pytest.approx(math.sqrt(3.92 * (1 / 6 + 1 / 6)), rel=1e-3)
    assert first.freedom == 8


def test_p_of_an_effect_is_that_of_its_f_test() -> None:
    """Of the torch effect: F = 208.33 / 3.92 = 53.19 with 1 and 8 degrees of freedom."""
    first = analyse(TWO, processes(YIELDS), LATENCY).effects[0].ratio
    assert first.p == pytest.approx(float(scipy.stats.f.sf(53.19, 1, 8)), rel=1e-2)


def test_two_arms_in_rounds_are_a_paired_t_test() -> None:
    """With the other factor's level the same, a simple effect has the pairs' interval."""
    made = drawn(TWO, [(0, 0), (1, 0)], 6)
    [effect] = analyse(TWO, made, LATENCY).effects
    old, new = made[::2], made[1::2]
    test = scipy.stats.ttest_rel([each.log for each in new], [each.log for each in old])
    interval = test.confidence_interval(0.95)
    assert effect.ratio.p == pytest.approx(test.pvalue, rel=1e-9)
    assert effect.ratio.log + effect.ratio.reach == pytest.approx(interval.high, rel=1e-9)


def test_blocks_and_missing_processes_are_those_of_least_squares_by_hand() -> None:
    """Against normal equations in signs, where half of a main effect is a parameter."""
    made = drawn(TWO, all_cells(TWO), 4, truth=[0.0, 0.1, -0.05, 0.03])
    del made[5], made[9]
    columns = []
    for process in made:
        signs = [2 * level - 1 for level in process.cell]
        columns.append(
            [signs[0], signs[1], signs[0] * signs[1], *np.eye(4)[int(str(process.block))]]
        )
    design, logs = np.array(columns, dtype=float), np.array([process.log for process in made])
    inverse = np.linalg.inv(design.T @ design)
    solution = inverse @ design.T @ logs
    variance = np.square(logs - design @ solution).sum() / (len(logs) - design.shape[1])
    for place, effect in enumerate(analyse(TWO, made, LATENCY).effects):
        scale = 4 if effect.contrast.is_interaction else 2
        error = scale * math.sqrt(variance * inverse[place, place])
        assert effect.ratio.log == pytest.approx(scale * solution[place], rel=1e-9)
        assert effect.ratio.error == pytest.approx(error, rel=1e-9)


def test_three_levels_are_each_compared_with_the_first() -> None:
    factors = [Factor("torch", ("2.9", "2.10", "2.11")), TWO[1]]
    made = drawn(factors, all_cells(factors), 2, spread=0.0, truth=[0, 0.1, 0.3, 0.05, 0.02, -0.04])
    logs = [effect.ratio.log for effect in analyse(factors, made, LATENCY).effects]
    # The effect at the other's first level, and half of how it differs at its second
    assert logs == pytest.approx([0.11, 0.28, 0.05 + (0.02 - 0.04) / 3, 0.02, -0.04], abs=1e-12)


def test_samples_within_processes_widen_an_interval() -> None:
    made = [process._replace(error=0.05) for process in drawn(TWO, all_cells(TWO), 3)]
    effect = analyse(TWO, made, LATENCY).effects[0]
    assert effect.ratio.error == pytest.approx(0.05 * math.sqrt(1 / 6 + 1 / 6), rel=1e-9)


def test_what_three_factors_do_beyond_their_pairs_is_tested_and_widens_nothing() -> None:
    made = drawn(THREE, all_cells(THREE), 3)
    odd = [
        process._replace(log=process.log + 0.2 * (process.cell == (1, 1, 1))) for process in made
    ]
    plain, bent = analyse(THREE, made, LATENCY), analyse(THREE, odd, LATENCY)
    assert plain.left_over > 0.05
    assert bent.left_over < 1e-6
    assert bent.spread_percent == pytest.approx(plain.spread_percent, rel=1e-9)


# --- What arms can show ---


def test_three_arms_of_four_show_simple_effects_and_no_interaction() -> None:
    """2.9.0 with cu128, 2.10.0 with cu128 and with cu130: what torch's issue 174575 measured."""
    effects, aliased = estimable_effects(TWO, [(0, 0), (1, 0), (1, 1)])
    assert [scope_text(TWO, each) for each in effects] == [
        "with cu128 alone",
        "with torch 2.10.0 alone",
    ]
    assert [exchange_text(TWO, each) for each in aliased] == [
        "torch 2.9.0 → 2.10.0 × CUDA cu128 → cu130"
    ]


def test_factors_that_always_change_together_have_no_number() -> None:
    effects, aliased = estimable_effects(TWO, [(0, 0), (1, 1)])
    assert effects == []
    assert len(aliased) == 3


def test_half_of_eight_arms_shows_no_pair_of_factors() -> None:
    half = [cell for cell in all_cells(THREE) if sum(cell) % 2 == 0]
    effects, _ = estimable_effects(THREE, half)
    assert effects == []


def test_seven_of_eight_arms_show_everything_but_all_three_at_once() -> None:
    effects, aliased = estimable_effects(THREE, all_cells(THREE)[:-1])
    assert len(effects) == 6
    assert aliased == []


def test_a_number_is_only_for_what_every_solution_agrees_on() -> None:
    """Of all designs of 2 × 3 arms: adding what the arms cannot see never moves a shown effect."""
    factors = [TWO[0], Factor("cuda", ("cu126", "cu128", "cu130"))]
    cells = all_cells(factors)
    for kept in product((False, True), repeat=len(cells)):
        measured = [cell for cell, keep in zip(cells, kept, strict=True) if keep]
        if not measured:
            continue
        design = np.array([design_row(factors, cell) for cell in measured])
        unseen = np.eye(design.shape[1]) - np.linalg.pinv(design) @ design
        for contrast in estimable_effects(factors, measured).effects:
            assert np.abs(unseen @ contrast.row).max() < 1e-7


def test_arms_that_share_no_round_are_not_compared() -> None:
    made = [ArmProcess(cell, cell, 0.0) for cell in all_cells(TWO) for _ in range(3)]
    analysis = analyse(TWO, made, LATENCY)
    assert analysis.effects == []
    assert len(analysis.aliased) == 3


# --- Words ---


def judged(made: Sequence[ArmProcess], metric: str = "latency_ms") -> MetricAnalysis:
    [analysis] = judge([analyse(TWO, made, METRICS[metric])])
    return analysis


def test_factor_that_moved_it_is_named_and_the_other_is_not() -> None:
    analysis = judged(drawn(TWO, all_cells(TWO), 4, spread=0.003, truth=[0, 0.1, 0, 0]))
    result = answer(TWO, analysis)
    assert result.word == "torch"
    assert result.tone == "bad"
    assert "Within 2%: CUDA cu128 → cu130." in result.sentence


def test_factors_that_act_together_say_so() -> None:
    analysis = judged(drawn(TWO, all_cells(TWO), 4, spread=0.003, truth=[0, 0, 0, 0.1]))
    assert "They act together: torch 2.10.0 and cu130 at once are" in answer(TWO, analysis).sentence


def test_nothing_moved_it_where_every_effect_is_within_the_threshold() -> None:
    assert answer(TWO, judged(drawn(TWO, all_cells(TWO), 6, spread=0.002))).word == "None of them"


def test_two_processes_a_side_are_suspected_at_most() -> None:
    made = drawn(TWO, [(0, 0), (1, 0), (1, 1)], 3, spread=0.001, truth=[0, 0.1, 0, 0])
    analysis = judged(made)
    torch = analysis.effects[0]
    assert (torch.verdict, torch.suspected, torch.processes) == ("unknown", "worse", 3)
    assert answer(TWO, analysis).word == "Not certain: torch"
    assert answer(TWO, analysis).sentences[0].endswith(", suspected.")


def test_single_round_has_no_interval_and_no_verdict() -> None:
    effects = judged(drawn(TWO, all_cells(TWO), 1, truth=[0, 0.1, 0, 0])).effects
    assert [effect.ratio.is_known for effect in effects] == [False] * 3
    assert {effect.verdict for effect in effects} == {"unknown"}
    assert {effect.lacks for effect in effects} == {"no combination was measured twice"}


def test_device_time_whose_processes_overlap_is_suspected() -> None:
    """Inductor tunes again in every process: what lies within that may be its choice."""
    made = drawn(TWO, all_cells(TWO), 20, spread=0.02, truth=[0, 0.03, 0, 0])
    assert judged(made).effects[0].verdict == "worse"
    assert judged(made, "device_ms").effects[0].suspected == "worse"


def test_memory_that_repeats_needs_two_processes_a_side() -> None:
    made = drawn(TWO, all_cells(TWO)[:3], 2, spread=1e-5, truth=[0, 0.1, 0, 0])
    torch, latency = judged(made, "peak_memory_gb").effects[0], judged(made).effects[0]
    assert torch.processes == 2
    assert torch.verdict == "worse"
    assert latency.suspected == "worse"


def test_memory_that_every_process_repeats_exactly_shows_nothing() -> None:
    """What rounding leaves is neither a variance nor an effect."""
    made = []
    for number in range(3):
        made += [ArmProcess(cell, number, math.log(3.7)) for cell in all_cells(THREE)]
    [analysis] = judge([analyse(THREE, made, MEMORY)])
    assert {effect.ratio.p for effect in analysis.effects} == {1.0}
    assert {effect.verdict for effect in analysis.effects} == {"same"}
    assert math.isnan(analysis.left_over)


def test_change_of_memory_that_repeats_exactly_is_certain() -> None:
    made = []
    for number in range(2):
        for cell in all_cells(TWO):
            made.append(ArmProcess(cell, number, math.log(3.7) + 0.1 * cell[0]))
    torch, cuda, together = judged(made, "peak_memory_gb").effects
    assert (torch.verdict, torch.ratio.p) == ("worse", 0.0)
    assert [cuda.verdict, together.verdict] == ["same", "same"]


# --- Levels ---


def test_name_with_one_level_is_the_same_in_every_arm() -> None:
    factors, fixed = factors_of(
        {"torch": ["2.13.0"], "cuda": ["cu128", "cu130"], "numpy": ["1", "2"]}
    )
    assert [factor.name for factor in factors] == ["cuda", "numpy"]
    assert fixed == {"torch": "2.13.0"}


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ({"torch": ["2.11.0", "2.13.0"]}, "compare two builds"),
        ({"torch": ["2.11.0", "2.13.0"], "python": ["3.11", "3.12"]}, "Unknown factor 'python'"),
        ({"torch": ["1", "2", "3", "4"], "numpy": ["1", "2"]}, "choose 3 at most"),
        ({"numpy": ["1", "2"], "cuda": ["cu128", "cu130"]}, "Name the torch versions"),
        ({name: ["1", "2", "3"] for name in ("torch", "numpy", "timm")}, "27 combinations"),
        (
            {name: ["1", "2"] for name in ("torch", "numpy", "timm", "diffusers")},
            "4 factors",
        ),
    ],
)
def test_levels_that_make_no_factorial_are_refused(
    levels: dict[str, list[str]], words: str
) -> None:
    with pytest.raises(PlanError, match=words):
        factors_of(levels)


def test_library_that_refuses_a_torch_says_what_it_needs() -> None:
    assert refused_library("2.5.1+cpu", {"transformers": "5.23.0"}) == (
        "transformers 5.23.0 needs torch >=2.6"
    )
    assert not refused_library("2.6.0", {"transformers": "5.23.0"})


def test_processes_a_side_are_known_before_anything_is_measured() -> None:
    assert fewest_processes(TWO, all_cells(TWO), 3) == 6
    assert fewest_processes(TWO, all_cells(TWO)[:3], 3) == 3
    assert fewest_processes(THREE, all_cells(THREE), 2) == 8
