"""Should we upgrade, and what will it cost? A comparison of two sides as an answer in words.
Pure.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeVar

from dashboard.comparisons.core.matching import (
    ComparedCase,
    ComparisonRow,
    Side,
    Table,
    compare,
    compare_latency,
)
from dashboard.comparisons.core.metric_effects import (
    CHANGED,
    Effect,
    EffectVerdict,
    describe_change,
    verdict_of,
)
from dashboard.comparisons.core.ratios import Ratio, geomean
from dashboard.language.metrics import EAGER, METRICS, Metric
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

GroupName = tuple[str, str]  # a model and "", or a family and its mode
NameOf = Callable[[ComparedCase], GroupName]

# Next to the latency, in the order in which they are reported
COSTS = ("cold_start_s", "peak_memory_gb", "drift")
# What `build_report` needs of each side
REPORT_METRICS = ("latency_ms", "eager_latency_ms", "speedup", *COSTS)
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


class Failure(NamedTuple):
    """A case that fails, and how: "oom, timeout"."""

    case: ComparedCase
    how: str

    @property
    def text(self) -> str:
        return f"{self.case.benchmark} {self.case.config} ({self.how})"


OfCase = TypeVar("OfCase", ComparisonRow, Failure)


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


@dataclass(frozen=True, slots=True)
class CaseGroup:
    """Some of the cases: of one model, or of one family and mode, or all.

    summaries: in the order of _NAMES. breaks, repairs: cases that fail on the new side alone, or on
    the base side alone.
    """

    name: str
    mode: str
    summaries: list[MetricSummary]
    breaks: list[str]
    repairs: list[str]
    answer: UpgradeAnswer

    @property
    def is_matched(self) -> bool:
        """Whether anything of it was measured on both sides, or fails on one of them alone."""
        return self.answer.sentence != NOTHING_MEASURED

    def of(self, key: str) -> MetricSummary:
        return next(summary for summary in self.summaries if summary.key == key)


@dataclass(frozen=True, slots=True)
class UpgradeReport:
    """All of a comparison. tables: by metric."""

    tables: dict[str, Table]
    overall: CaseGroup
    models: list[CaseGroup]
    families: list[CaseGroup]
    is_within: bool

    @property
    def latency(self) -> Table:
        return self.tables["latency_ms"]


def build_report(base: Side, new: Side, *, any_libraries: bool = False) -> UpgradeReport:
    """The whole answer. Sides must bring REPORT_METRICS."""
    tables = {"latency_ms": compare_latency(base, new, any_libraries=any_libraries)}
    for key in COSTS:
        tables[key] = compare(base, new, METRICS[key], any_libraries=any_libraries)
    breaks, repairs = newly_failing(base, new), newly_failing(new, base)
    every_row = {key: table.rows for key, table in tables.items()}
    overall = _group(("all", ""), every_row, breaks, repairs)

    cases = {measured.case for side in (base, new) for measured in side.values()}
    in_order = sorted(cases, key=lambda case: case.place)

    def groups(name_of: NameOf) -> list[CaseGroup]:
        return _groups(in_order, name_of, every_row, breaks, repairs)

    return UpgradeReport(
        tables,
        overall,
        models=groups(lambda case: (case.model, "")),
        families=groups(lambda case: (case.family, case.mode)),
        is_within=overall.of("latency_ms").is_within,
    )


def newly_failing(passing: Side, failing: Side) -> list[Failure]:
    """Cases that pass on one side and only fail on the other, with how they fail."""
    failures = []
    for key, measured in failing.items():
        only_fails = measured.failures and "latency_ms" not in measured.samples
        if only_fails and key in passing and passing[key].samples:
            failures.append(Failure(measured.case, ", ".join(sorted(measured.failures))))
    return failures


def _groups(
    cases: Sequence[ComparedCase],
    name_of: NameOf,
    rows: dict[str, list[ComparisonRow]],
    breaks: Sequence[Failure],
    repairs: Sequence[Failure],
) -> list[CaseGroup]:
    """The cases divided by their name, in the order of `cases`."""
    rows_by_name = {key: _by_name(of_metric, name_of) for key, of_metric in rows.items()}
    breaks_by_name, repairs_by_name = _by_name(breaks, name_of), _by_name(repairs, name_of)
    groups = []
    for name in dict.fromkeys(map(name_of, cases)):
        own_rows = {key: by_name.get(name, []) for key, by_name in rows_by_name.items()}
        own_breaks, own_repairs = breaks_by_name.get(name, []), repairs_by_name.get(name, [])
        groups.append(_group(name, own_rows, own_breaks, own_repairs))
    return groups


def _by_name(items: Sequence[OfCase], name_of: NameOf) -> dict[GroupName, list[OfCase]]:
    by_name: dict[GroupName, list[OfCase]] = {}
    for item in items:
        by_name.setdefault(name_of(item.case), []).append(item)
    return by_name


def _group(
    name: GroupName,
    rows: dict[str, list[ComparisonRow]],
    breaks: Sequence[Failure],
    repairs: Sequence[Failure],
) -> CaseGroup:
    """rows: by metric."""
    summaries = [
        summarize("latency_ms", _compiled(rows["latency_ms"])),
        summarize("eager", _controls(rows["latency_ms"])),
        *(summarize(key, _compiled(rows[key])) for key in COSTS),
    ]
    broken = [failure.text for failure in breaks]
    repaired = [failure.text for failure in repairs]
    conclusion = answer(summaries, broken, repaired)
    return CaseGroup(*name, summaries, broken, repaired, conclusion)


def _compiled(rows: Sequence[ComparisonRow]) -> list[Effect]:
    return [row.effect for row in rows if row.case.config != EAGER]


def _controls(rows: Sequence[ComparisonRow]) -> list[Effect]:
    """Eager's change, once for each benchmark: of its own job, else of the control next to a
    compiled case.
    """
    controls: dict[str, Effect] = {}
    for row in sorted(rows, key=lambda row: row.case.config != EAGER):
        effect = row.effect if row.case.config == EAGER else row.eager
        if effect is not None:
            controls.setdefault(row.case.benchmark, effect)
    return list(controls.values())


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
    if gains or losses:
        return "Yes" if gains else "No"
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
