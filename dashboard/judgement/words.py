"""Changes and answers in words: the same on a page, in a mail, a gate, a file and the API."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from dashboard.judgement.changes import Change, Grade, SetVerdict
from dashboard.language import wording
from dashboard.language.wording import Tone, ValueChange, plural

ORDER: tuple[SetVerdict, ...] = ("worse", "mixed", "better", "unclear", "same")
"""What needs a decision comes first."""
SIGNS: Mapping[SetVerdict, str] = {
    "worse": "▼",
    "mixed": "▼▲",
    "better": "▲",
    "unclear": "↔",
    "same": "=",
}
TONES: Mapping[SetVerdict, Tone] = {"worse": "bad", "mixed": "bad", "better": "good"}
_MOST_NAMED = 3


def in_words(change: Change) -> ValueChange:
    """Its number and interval: "3.1% slower (2.0 to 4.2%)", toned by its verdict."""
    unit = "percent" if change.is_ratio else "difference"
    words = wording.effect(change.metric, change.amount, *change.interval, unit)
    assert words is not None  # it has an amount
    return replace(words, tone=TONES.get(change.verdict, "none"))


def short(change: Change) -> str:
    """Its number without the interval."""
    return in_words(change).text.partition(" (")[0]


def evidence(change: Change) -> str:
    """The interval, where one is known, and the pairs: "45.4 to 46.0%, 2 pairs"."""
    ends = in_words(change).text.partition(" (")[2].rstrip(")")
    if change.basis == "pairs":
        basis = plural(change.pairs, "pair") if change.pairs else ""
    else:
        basis = "not measured in turn"
    return ", ".join(filter(None, (ends, basis)))


class Graded(Protocol):
    @property
    def verdict(self) -> SetVerdict: ...
    @property
    def grade(self) -> Grade | None: ...


def graded(of: Graded) -> str:
    """ "worse, certain"; "same"."""
    return f"{of.verdict}, {of.grade}" if of.grade else of.verdict


def counted(counts: Mapping[Any, int]) -> str:
    """ "1 worse, 3 better, 12 same"; empty of nothing. counts: by verdict."""
    return ", ".join(f"{counts[word]} {word}" for word in ORDER if counts.get(word))


def first_of(names: Sequence[str]) -> str:
    """Three names at most, and how many more there are."""
    text = ", ".join(names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{text} and {more} more" if more > 0 else text
