"""Changes and answers in words."""

import math

import pytest

from dashboard.judgement.changes import Change, answer
from dashboard.judgement.words import counted, first_of, graded, in_words, short
from dashboard.language.metrics import METRICS
from tests.dashboard.judgement.measured import LATENCY

WORSE = Change(
    "case", LATENCY, math.log(1.03), math.log(1.02), math.log(1.04), 6, "worse", "certain"
)


def test_change_has_its_number_interval_and_tone() -> None:
    words = in_words(WORSE)
    assert (words.text, words.tone) == ("3.0% slower (2.0 to 4.0%)", "bad")
    assert short(WORSE) == "3.0% slower"


def test_change_without_an_interval_has_its_number_alone() -> None:
    assert in_words(Change("case", LATENCY, math.log(1.03))).text == "3.0% slower"


def test_difference_of_counts_is_one_in_words() -> None:
    one_more = Change("case", METRICS["graph_breaks"], 1.0, 1.0, 1.0, 2, "worse", is_ratio=False)
    assert in_words(one_more).text == "1 more"


@pytest.mark.parametrize(("changes", "words"), [([WORSE], "worse, certain"), ([], "unclear")])
def test_answer_has_its_grade(changes: list[Change], words: str) -> None:
    assert graded(answer(changes)) == words


def test_counts_begin_with_what_needs_a_decision() -> None:
    assert (
        counted(answer([WORSE], others=["same", "better", "worse"]).counts)
        == "2 worse, 1 better, 1 same"
    )


def test_three_names_at_most_are_listed() -> None:
    assert first_of(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
    assert first_of(["a", "b"]) == "a, b"
