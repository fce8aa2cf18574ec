"""Should we upgrade, and what will it cost? A comparison of two sides as an answer in words.
Pure.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from dashboard.comparisons.core.matching import (
    ComparedCase,
    ComparisonRow,
    Side,
    Table,
    compare,
    compare_latency,
)
from dashboard.comparisons.core.metric_effects import CHANGED, Effect, Verdict, in_words, verdict_of
from dashboard.comparisons.core.ratios import Ratio, geomean
from dashboard.language.metrics import EAGER, METRICS, Metric
from dashboard.language.wording import Tone, ValueChange, plural, span

Word = Literal[
    "Yes",
    "Yes, at a cost",
    "It depends",
    "No",
    "Not yet",
    "It makes no difference",
    "Steps hardly change",
    "Not known yet",
]

Name = tuple[str, str]  # of a group: a model, or a family and its mode

# Beside the latency, in the order in which they are told
COSTS = ("cold_start_s", "peak_memory_gb", "drift")
READ = ("latency_ms", "eager_latency_ms", "speedup", *COSTS)  # what `report` needs of each side
_NAMES = {
    "latency_ms": "compiled steps",
    "eager": "eager steps",
    "cold_start_s": "cold start",
    "peak_memory_gb": "peak memory",
    "drift": "drift",
}
_WORDS: dict[Word, Tone] = {"Yes": "good", "Yes, at a cost": "good", "No": "bad", "Not yet": "bad"}
UNKNOWN: Word = "Not known yet"
HARDLY_PERCENT = 5.0
"""An interval of the compiled steps that lies within this answers the question, though not to a
case's threshold.
"""
_MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """One metric over several matched cases. key: of _NAMES. ratio: the geomean with its interval;
    None without cases.

    counts: how many cases are better, worse, the same, not known.
    """

    key: str
    metric: Metric
    ratio: Ratio | None
    verdict: Verdict
    change: ValueChange | None
    counts: dict[Verdict, int]

    @property
    def name(self) -> str:
        return _NAMES[self.key]

    @property
    def matched(self) -> int:
        return sum(self.counts.values())

    @property
    def is_within(self) -> bool:
        """Whether its interval leaves out how much one process differs from the next."""
        return self.ratio is not None and self.ratio.basis in {"within", "none"}

    @property
    def is_narrow(self) -> bool:
        """Whether the interval holds nothing beyond HARDLY_PERCENT."""
        return (
            self.ratio is not None
            and self.ratio.low >= -HARDLY_PERCENT
            and self.ratio.high <= HARDLY_PERCENT
        )

    @property
    def range(self) -> str:
        """Its name, and the interval in words where one is known: "cold start (2.0 % faster to 4.1
        % slower)".
        """
        if self.ratio is None or not self.ratio.is_known:
            return self.name
        return f"{self.name} ({span(self.metric, self.ratio.low, self.ratio.high)})"


@dataclass(frozen=True, slots=True)
class Answer:
    """A verdict in a word, and the sentence that carries it."""

    word: Word
    tone: Tone
    sentence: str


@dataclass(frozen=True, slots=True)
class Group:
    """Some of the cases: of one model, or of one family and mode, or all. summaries: in the order
    of _NAMES.
    """

    name: str
    mode: str
    summaries: list[MetricSummary]
    breaks: list[str]
    repairs: list[str]
    answer: Answer

    @property
    def is_matched(self) -> bool:
        """Whether anything of it was measured on both sides, or fails on one of them alone."""
        return self.answer.sentence != NOTHING

    def of(self, key: str) -> MetricSummary:
        return next(summary for summary in self.summaries if summary.key == key)


@dataclass(frozen=True, slots=True)
class UpgradeReport:
    """All of a comparison. breaks, repairs: cases that fail on the new side alone, or on the base
    side alone.
    """

    tables: dict[str, Table]
    overall: Group
    models: list[Group]
    families: list[Group]
    is_within: bool

    @property
    def latency(self) -> Table:
        return self.tables["latency_ms"]


def report(base: Side, new: Side, *, any_libraries: bool = False) -> UpgradeReport:
    """The whole answer. Sides must bring the metrics READ."""
    tables = {"latency_ms": compare_latency(base, new, any_libraries=any_libraries)}
    tables |= {key: compare(base, new, METRICS[key], any_libraries=any_libraries) for key in COSTS}
    breaks, repairs = broken(base, new), broken(new, base)

    def groups(name_of: Callable[[ComparedCase], Name]) -> list[Group]:
        rows = {key: _parted(table.rows, name_of) for key, table in tables.items()}
        names = dict.fromkeys(name_of(case) for case in _cases(base, new))
        found = (_of(name, name_of, breaks, repairs) for name in names)
        return [
            _group(*name, {key: parts.get(name, []) for key, parts in rows.items()}, *fails)
            for name, fails in zip(names, found, strict=True)
        ]

    [overall] = groups(lambda case: ("all", "")) or [
        _group("all", "", {key: [] for key in tables}, [], [])
    ]
    return UpgradeReport(
        tables,
        overall,
        models=groups(lambda case: (case.model, "")),
        families=groups(lambda case: (case.family, case.mode)),
        is_within=overall.of("latency_ms").is_within,
    )


def _cases(base: Side, new: Side) -> list[ComparedCase]:
    """Every case of either side, in registry order."""
    return sorted(
        {one.case for side in (base, new) for one in side.values()}, key=lambda case: case.place
    )


def _parted(
    rows: Sequence[ComparisonRow], name_of: Callable[[ComparedCase], Name]
) -> dict[Name, list[ComparisonRow]]:
    parts: dict[Name, list[ComparisonRow]] = {}
    for row in rows:
        parts.setdefault(name_of(row.case), []).append(row)
    return parts


def _of(
    name: Name, name_of: Callable[[ComparedCase], Name], *broken: Sequence[tuple[ComparedCase, str]]
) -> tuple[list[str], list[str]]:
    """What of the failures belongs to a group, in words."""
    breaks, repairs = (
        [f"{case.benchmark} {case.config} ({how})" for case, how in found if name_of(case) == name]
        for found in broken
    )
    return breaks, repairs


def broken(passing: Side, failing: Side) -> list[tuple[ComparedCase, str]]:
    """Cases that pass on one side and only fail on the other, with how they fail."""
    return [
        (other.case, ", ".join(sorted(other.failures)))
        for key, other in failing.items()
        if other.failures
        and "latency_ms" not in other.parts
        and key in passing
        and passing[key].parts
    ]


def _group(
    name: str,
    mode: str,
    rows: dict[str, list[ComparisonRow]],
    breaks: list[str],
    repairs: list[str],
) -> Group:
    compiled = [row for row in rows["latency_ms"] if row.case.config != EAGER]
    summaries = [
        summarize("latency_ms", [row.effect for row in compiled]),
        summarize("eager", _controls(rows["latency_ms"])),
        *(
            summarize(key, [row.effect for row in rows[key] if row.case.config != EAGER])
            for key in COSTS
        ),
    ]
    return Group(name, mode, summaries, breaks, repairs, answer(summaries, breaks, repairs))


def _controls(rows: Sequence[ComparisonRow]) -> list[Effect]:
    """Eager's change, once for each benchmark: of its own job, else of the control beside a
    compiled case.
    """
    found: dict[str, Effect] = {}
    for row in sorted(rows, key=lambda row: row.case.config != EAGER):
        effect = row.effect if row.case.config == EAGER else row.eager
        if effect is not None:
            found.setdefault(row.case.benchmark, effect)
    return list(found.values())


def summarize(key: str, effects: Sequence[Effect]) -> MetricSummary:
    """One metric over the cases of `effects`. A mean of several is told from half of a case's
    threshold on, that of one is the case.
    """
    metric = METRICS["latency_ms" if key == "eager" else key]
    counts: dict[Verdict, int] = {"better": 0, "worse": 0, "same": 0, "unknown": 0}
    for effect in effects:
        counts[effect.verdict] += 1
    ratio = geomean([effect.ratio for effect in effects if effect.ratio])
    if ratio is None:
        return MetricSummary(key, metric, None, "unknown", None, counts)
    finer = (
        replace(metric, threshold_percent=metric.threshold_percent / 2)
        if len(effects) > 1
        else metric
    )
    verdict = verdict_of(ratio, finer)
    return MetricSummary(key, metric, ratio, verdict, in_words(ratio, verdict, metric), counts)


def answer(
    summaries: Sequence[MetricSummary], breaks: Sequence[str], repairs: Sequence[str]
) -> Answer:
    """What to do, from what is known; the eager steps are told, and decide nothing."""
    word = _word([s for s in summaries if s.key != "eager" and s.matched], breaks, repairs)
    return Answer(
        word, _WORDS.get(word, "none"), " ".join(_sentences(summaries, breaks, repairs)) or NOTHING
    )


def _sentences(
    summaries: Sequence[MetricSummary], breaks: Sequence[str], repairs: Sequence[str]
) -> Iterator[str]:
    """What fails, what changed, what did not, what is undecided: a sentence each, where there is
    something.
    """
    matched = [s for s in summaries if s.matched]
    if breaks:
        yield f"{plural(len(breaks), 'case')} that passed now {_does(breaks)}: {_some(breaks)}."
    if repairs:
        yield (
            f"{plural(len(repairs), 'case')} that failed before now "
            f"{'passes' if len(repairs) == 1 else 'pass'}."
        )
    if changed := [
        f"{s.name} {_be(s.name)} {s.change.text}"
        for s in matched
        if s.verdict in CHANGED and s.change
    ]:
        yield _sentence(changed)
    if same := [s.name for s in matched if s.verdict == "same"]:
        yield _sentence([f"{_and(same)} {'are' if len(same) > 1 else _be(same[0])} unchanged"])
    if unknown := [s.range for s in matched if s.verdict == "unknown"]:
        yield f"Undecided: {_and(unknown)}."


def _sentence(parts: Sequence[str]) -> str:
    told = _and(parts)
    return f"{told[:1].upper()}{told[1:]}."


def _be(name: str) -> str:
    return "are" if name.endswith("s") else "is"


NOTHING = "No case was measured on both sides."


def _word(
    summaries: Sequence[MetricSummary], breaks: Sequence[str], repairs: Sequence[str]
) -> Word:
    """summaries: the compiled steps' first."""
    verdicts = [summary.verdict for summary in summaries]
    latency = verdicts[0] if verdicts else "unknown"
    gains, losses = "better" in verdicts or bool(repairs), "worse" in verdicts
    if breaks:
        return "Not yet"
    # Whatever else is known: steps are what an upgrade is for
    if latency == "unknown" and not repairs:
        return "Steps hardly change" if summaries and summaries[0].is_narrow else UNKNOWN
    if gains and losses:
        return "Yes, at a cost" if latency == "better" else "It depends"
    if gains or losses:
        return "Yes" if gains else "No"
    return "It makes no difference" if latency == "same" else UNKNOWN


def _and(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def _does(breaks: Sequence[str]) -> str:
    return "fails" if len(breaks) == 1 else "fail"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
