"""Should we upgrade, and what will it cost? A comparison of two sides as an answer in words.
Pure.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from dashboard.comparisons.core.metric_effects import (
    CHANGED,
    Effect,
    EffectVerdict,
    describe_change,
    verdict_of,
)
from dashboard.comparisons.core.ratios import Ratio, geomean
from dashboard.language.metrics import METRICS, Metric
from dashboard.language.wording import Tone, ValueChange, plural, span

Recommendation = Literal[
    "Yes",
    "Yes, at a cost",
    "It depends",
    "No",
    "Not yet",
    "It makes no difference",
    "Steps hardly change",
    "Not known yet",
]

# Next to the latency, in the order in which they are reported
COSTS = ("cold_start_s", "peak_memory_gb", "drift")
_NAMES = {
    "latency_ms": "compiled steps",
    "eager": "eager steps",
    "cold_start_s": "cold start",
    "peak_memory_gb": "peak memory",
    "drift": "drift",
}
_TONES: dict[Recommendation, Tone] = {
    "Yes": "good",
    "Yes, at a cost": "good",
    "No": "bad",
    "Not yet": "bad",
}
UNKNOWN: Recommendation = "Not known yet"
NOTHING_MEASURED = "No case was measured on both sides."
# An interval of the compiled steps that lies within this answers the question, though not to a
# case's threshold
HARDLY_PERCENT = 5.0
_MAX_NAMED = 4


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """One metric over several matched cases.

    key: of _NAMES.
    ratio: the geomean with its interval; None without cases.
    counts: how many cases are better, worse, the same, not known.
    """

    key: str
    metric: Metric
    ratio: Ratio | None
    verdict: EffectVerdict
    change: ValueChange | None
    counts: dict[EffectVerdict, int]

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
        if self.ratio is None:
            return False
        return self.ratio.low >= -HARDLY_PERCENT and self.ratio.high <= HARDLY_PERCENT

    @property
    def range(self) -> str:
        """Its name, and the interval in words where one is known: "cold start (2.0 % faster to 4.1
        % slower)".
        """
        if self.ratio is None or not self.ratio.is_known:
            return self.name
        return f"{self.name} ({span(self.metric, self.ratio.low, self.ratio.high)})"


@dataclass(frozen=True, slots=True)
class UpgradeAnswer:
    """A recommendation in a word or two, and the sentence that explains it."""

    word: Recommendation
    tone: Tone
    sentence: str


def summarize(key: str, effects: Sequence[Effect]) -> MetricSummary:
    """One metric over the cases of `effects`. A mean of several counts as changed from half of a
    case's threshold on; that of one is the case.
    """
    metric = METRICS["latency_ms" if key == "eager" else key]
    counts: dict[EffectVerdict, int] = {"better": 0, "worse": 0, "same": 0, "unknown": 0}
    for effect in effects:
        counts[effect.verdict] += 1
    ratio = geomean([effect.ratio for effect in effects if effect.ratio])
    if ratio is None:
        return MetricSummary(key, metric, None, "unknown", None, counts)
    judged = metric
    if len(effects) > 1:
        judged = replace(metric, threshold_percent=metric.threshold_percent / 2)
    verdict = verdict_of(ratio, judged)
    change = describe_change(ratio, verdict, metric)
    return MetricSummary(key, metric, ratio, verdict, change, counts)


def answer(
    summaries: Sequence[MetricSummary], breaks: Sequence[str], repairs: Sequence[str]
) -> UpgradeAnswer:
    """What to do, from what is known; the eager steps are reported, and decide nothing."""
    deciding = [summary for summary in summaries if summary.key != "eager" and summary.matched]
    word = _recommendation(deciding, breaks, repairs)
    sentences = " ".join(_sentences(summaries, breaks, repairs))
    return UpgradeAnswer(word, _TONES.get(word, "none"), sentences or NOTHING_MEASURED)


def _recommendation(
    summaries: Sequence[MetricSummary], breaks: Sequence[str], repairs: Sequence[str]
) -> Recommendation:
    """summaries: the compiled steps' first."""
    if breaks:
        return "Not yet"
    verdicts = [summary.verdict for summary in summaries]
    latency = verdicts[0] if verdicts else "unknown"
    # Whatever else is known: steps are what an upgrade is for
    if latency == "unknown" and not repairs:
        return "Steps hardly change" if summaries and summaries[0].is_narrow else UNKNOWN
    gains, losses = bool(repairs) or "better" in verdicts, "worse" in verdicts
    if gains and losses:
        return "Yes, at a cost" if latency == "better" else "It depends"
    if gains:
        return "Yes"
    if losses:
        return "No"
    return "It makes no difference" if latency == "same" else UNKNOWN


def _sentences(
    summaries: Sequence[MetricSummary], breaks: Sequence[str], repairs: Sequence[str]
) -> Iterator[str]:
    """What fails, what changed, what did not, what is undecided: a sentence each, where there is
    something.
    """
    if breaks:
        fail = "fails" if len(breaks) == 1 else "fail"
        yield f"{plural(len(breaks), 'case')} that passed now {fail}: {_first_of(breaks)}."
    if repairs:
        passes = "passes" if len(repairs) == 1 else "pass"
        yield f"{plural(len(repairs), 'case')} that failed before now {passes}."

    changed, same, unknown = [], [], []
    for summary in summaries:
        if not summary.matched:
            continue
        if summary.verdict in CHANGED and summary.change:
            changed.append(f"{summary.name} {_be(summary.name)} {summary.change.text}")
        elif summary.verdict == "same":
            same.append(summary.name)
        elif summary.verdict == "unknown":
            unknown.append(summary.range)
    if changed:
        yield _sentence(_and(changed))
    if same:
        be = "are" if len(same) > 1 else _be(same[0])
        yield _sentence(f"{_and(same)} {be} unchanged")
    if unknown:
        yield f"Undecided: {_and(unknown)}."


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _be(name: str) -> str:
    return "are" if name.endswith("s") else "is"


def _and(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _first_of(names: Sequence[str]) -> str:
    text = ", ".join(names[:_MAX_NAMED])
    if len(names) > _MAX_NAMED:
        text += f" and {len(names) - _MAX_NAMED} more"
    return text
