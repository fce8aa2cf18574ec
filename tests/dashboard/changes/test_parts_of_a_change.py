"""The sentence, the waterfall, the marks and the code of a change: pure."""

import pytest

from dashboard.changes.core.headline import amount_text, cause_of, sentence
from dashboard.changes.core.marks import marks
from dashboard.changes.core.side_by_side import side_by_side
from dashboard.changes.core.waterfall import Part, kernel_parts, waterfall
from dashboard.language.metrics import METRICS
from dashboard.results.core.kernel_diff import kernel_diff
from dashboard.results.core.kernel_profile import arm_profiles
from tests.builders.kernels import AFTER, BEFORE

STEP, DEVICE, MEMORY = METRICS["latency_ms"], METRICS["device_ms"], METRICS["peak_memory_gb"]


@pytest.mark.parametrize(
    ("metric", "levels", "said"),
    [
        (DEVICE, (45.8, 68.3), "gpt2: 22.5 ms more GPU time"),
        (STEP, (0.141, 0.0939), "gpt2: a step takes 47.1 µs less"),
        (MEMORY, (2.0, 2.034), "gpt2: 34.0 MB more peak memory"),
        (STEP, None, "gpt2: latency 6.2% slower"),
    ],
)
def test_sentence_names_the_difference(
    metric: object, levels: tuple[float, float] | None, said: str
) -> None:
    assert sentence("gpt2", metric, levels, "6.2% slower", "") == said  # type: ignore[arg-type]


def test_sentence_of_more_than_twelve_words_has_no_cause() -> None:
    cause = ", with a setting whose name and values are long"
    assert sentence("gpt2", STEP, (1.0, 2.0), "", cause) == "gpt2: a step takes 1.00 ms longer"


def test_cause_is_the_part_that_makes_most_of_the_difference() -> None:
    assert cause_of([], 0.8, "Attention, backward") == ", mostly attention, backward"
    assert cause_of([], 0.3, "Attention, backward") == ""


def test_known_change_comes_before_the_largest_part() -> None:
    assert cause_of(["attention left cuDNN; more"], 0.9, "cat") == "; attention left cuDNN"


def test_amount_has_the_unit_of_the_level_next_to_it() -> None:
    assert amount_text(STEP, 0.003, like=0.0939) == "3.0 µs"
    assert amount_text(DEVICE, 0.61, like=45.8) == "0.6 ms"


def test_parts_of_a_waterfall_lead_from_one_level_to_the_other() -> None:
    before, after = Part("2.11", 45.0), Part("2.15", 68.0)
    drawn = waterfall(before, after, [Part("attention", 20.0), Part("other", -1.0)])
    pieces = [step for step in drawn.steps if not step.is_level]
    assert [step.name for step in pieces] == ["attention", "other", "Everything else"]
    assert sum(step.amount for step in pieces) == pytest.approx(23.0)


def test_bars_of_a_waterfall_lie_within_its_width() -> None:
    drawn = waterfall(Part("a", 100.0), Part("b", 97.0), [Part("x", 5.0), Part("y", -8.0)])
    assert drawn.is_cut
    for step in drawn.steps:
        assert -1e-6 <= step.x <= step.x + step.width <= 100 + 1e-6


def test_kernels_add_up_to_the_difference_of_the_profiles() -> None:
    base, new = (
        arm_profiles({"profile": {"compiled": part}})["compiled"] for part in (BEFORE, AFTER)
    )
    diff = kernel_diff(base, new)
    assert diff is not None
    drawn = waterfall(Part("a", base.total_ms), Part("b", new.total_ms), kernel_parts(diff))
    pieces = [step.amount for step in drawn.steps if not step.is_level]
    assert sum(pieces) == pytest.approx(diff.ms, abs=0.03 * abs(diff.ms))


def test_pair_is_drawn_with_its_percent() -> None:
    drawn = marks([(10.0, 15.0)], [("2.11", [10.0, 10.1])])
    assert drawn is not None
    assert drawn.pairs[0].percent == pytest.approx(50.0)
    assert drawn.builds[0].spread == pytest.approx(1.0)


def test_removed_lines_stand_next_to_those_in_their_place() -> None:
    rows = side_by_side(["@@ -1 +1 @@", " same", "-old", "-gone", "+new", " end"])
    assert [(row.before, row.after) for row in rows[1:]] == [
        ("same", "same"),
        ("old", "new"),
        ("gone", ""),
        ("end", "end"),
    ]
