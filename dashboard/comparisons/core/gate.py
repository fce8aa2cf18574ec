"""May this change go in? A judgement as a gate's answer: passed, a regression, or not known yet.
Pure.

The judgement is the one that headline and tables show (judgement.py), over the metrics that are
gated. What is suspected or open is neither a regression nor a pass: it is not known yet, and the
gate says how many processes should settle it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import shorten
from typing import Any, TypedDict

from dashboard.comparisons.core.failures import not_measured
from dashboard.comparisons.core.judgement import (
    JUDGED_METRICS,
    Finding,
    Judgement,
    State,
    judge_sides,
)
from dashboard.comparisons.core.matching import ComparisonRow, Key, Side
from dashboard.comparisons.core.metric_effects import CERTAIN_PROCESSES
from dashboard.language.contracts import Document
from dashboard.language.exports import markdown_table
from dashboard.language.wording import quantity
from dashboard.results.core.job_pairs import added_graph_breaks

EXIT_CODES: dict[State, int] = {"passed": 0, "regression": 1, "unknown": 3}
NOT_MEASURED = 2
MAX_PROCESSES = 20  # worth advising; a change that needs more lies on the bound
_TITLES = {
    0: "no regression found",
    1: "regression",
    2: "measurement not possible",
    3: "not known yet",
}
_HEADER = ("Benchmark", "Config", "Metric", "Base", "New", "Change", "Part that changed")
_MAX_ROWS = 40
_MAX_REASON = 300  # characters
_METHOD = (
    "Intervals are 95%, over processes measured in turn on one device; significant: false "
    "discovery rate 5% over all cases and metrics."
)


class NewGraphBreak(TypedDict):
    """location: file:line in function; may be empty."""

    benchmark: str
    config: str
    location: str
    reason: str


@dataclass(frozen=True, slots=True)
class Gate:
    """The answer of a judgement.

    processes: how many for each case and build should make the unknown known; None where nothing is
        unknown, or where it is not more data that is missing.
    not_measured: cases that an environment kept from being measured, with why.
    graph_breaks: of cases with more of them, those that the base does not have.
    """

    judgement: Judgement
    processes: int | None
    not_measured: list[str]
    graph_breaks: Sequence[NewGraphBreak] = ()

    @property
    def state(self) -> State:
        state = self.judgement.state
        return "unknown" if self.not_measured and state == "passed" else state

    @property
    def exit_code(self) -> int:
        if self.not_measured and self.state == "unknown":
            return NOT_MEASURED
        return EXIT_CODES[self.state]

    @property
    def regressions(self) -> list[Finding]:
        return self.judgement.of_kind("regression")

    @property
    def unknown(self) -> list[Finding]:
        return self.judgement.of_kind("suspected") + self.judgement.of_kind("open")

    @property
    def improvements(self) -> list[Finding]:
        return self.judgement.of_kind("improvement")

    @property
    def unchanged(self) -> int:
        """Results that are no worse than the bound."""
        return len(self.judgement.of_kind("unchanged")) + len(self.judgement.of_kind("bounded"))


def decide(base: Side, new: Side, metrics: Sequence[str] = JUDGED_METRICS) -> Gate:
    """Judge `metrics` of every case. Sides must bring them and PART_METRICS."""
    judgement = judge_sides(base, new, metrics, is_complete=True)
    unmeasured = not_measured(base, new)
    breaks = [failure for failure in judgement.breaks if failure.case.key not in unmeasured]
    unknown = judgement.of_kind("suspected") + judgement.of_kind("open")
    return Gate(
        replace(judgement, breaks=breaks), _processes_needed(unknown), [*unmeasured.values()]
    )


def rows_with_graph_breaks(gate: Gate) -> list[ComparisonRow]:
    """Cases with more graph breaks, of which `graph_breaks` can say where."""
    findings = gate.regressions + gate.unknown
    return [finding.row for finding in findings if finding.metric.key == "graph_breaks"]


def with_graph_breaks(gate: Gate, compiled: Mapping[Key, tuple[Document, Document]]) -> Gate:
    """The gate with the graph breaks of these cases. compiled: the section `compile` of a result of
    the base, and of one of the new side.
    """
    graph_breaks = list[NewGraphBreak]()
    for (benchmark, config), sections in compiled.items():
        for each in added_graph_breaks(*sections):
            location, reason = each.get("location", ""), each["reason"]
            graph_breaks.append(
                NewGraphBreak(benchmark=benchmark, config=config, location=location, reason=reason)
            )
    return replace(gate, graph_breaks=graph_breaks)


def _processes_needed(unknown: Sequence[Finding]) -> int | None:
    """How many processes should settle all of them; None where one lies on its bound, or where
    there are none.
    """
    needed = [processes_needed(finding) for finding in unknown]
    most = max(needed, default=MAX_PROCESSES + 1)
    return most if most <= MAX_PROCESSES else None


def processes_needed(finding: Finding) -> int:
    """For each build, roughly: an interval narrows with the root of their number.

    It has to leave out 0 where the change is beyond the threshold, else to fit into the bound.
    """
    effect = finding.effect
    processes = effect.processes
    ratio = effect.ratio
    if ratio is None or not ratio.is_known or effect.suspected:
        return max(CERTAIN_PROCESSES, processes + 1)
    worse = ratio.log if finding.metric.lower_is_better else -ratio.log
    threshold = math.log1p(finding.metric.threshold_percent / 100)
    room = worse if worse >= threshold else math.log1p(finding.bound_percent / 100) - worse
    if ratio.reach / room > math.sqrt(MAX_PROCESSES):
        return MAX_PROCESSES + 1
    needed = max(processes + 1, math.ceil(processes * (ratio.reach / room) ** 2))
    return max(needed, CERTAIN_PROCESSES) if worse >= threshold else needed


def advice(gate: Gate) -> str:
    """What would make known what is not; empty where all is known."""
    if gate.exit_code == NOT_MEASURED:
        return "Fix what kept cases from being measured, below, and measure again."
    if gate.state != "unknown":
        return ""
    if not gate.judgement.findings:
        return "No case was measured on both sides: see why below, and measure again."
    parts = []
    if count := len(gate.unknown):
        results = "result" if count == 1 else "results"
        parts.append(f"{count} {results} not known: {_more_data(gate)}.")
    if gate.judgement.undecided:
        parts.append("Cases failed in a way that one process does not prove: measure them again.")
    if any(out.lacks_data for out in gate.judgement.absent):
        parts.append("Cases were not measured on both sides: see why below.")
    return " ".join(parts)


def _more_data(gate: Gate) -> str:
    if gate.processes:
        return (
            f"{gate.processes} processes for each case and build should settle it "
            f"(`--repeats {gate.processes}`)"
        )
    return (
        f"the change lies on the threshold, so {MAX_PROCESSES} processes for each case and build "
        "would not settle it: quieten the machine, or gate on fewer metrics (`--metric`)"
    )


def sentence(gate: Gate) -> str:
    """The answer in a line."""
    counts = {
        "worse": len(gate.regressions) + len(gate.judgement.breaks),
        "not known": len(gate.unknown),
        "better": len(gate.improvements),
        "unchanged": gate.unchanged,
    }
    summary = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return f"{_TITLES[gate.exit_code].capitalize()}: {summary or 'nothing was compared'}."


def markdown(
    gate: Gate, *, base: str, new: str, machine: str, address: str = "", notes: Sequence[str] = ()
) -> str:
    """The answer for a pull request. address: of the whole report. notes: what a reader has to
    know of the numbers first.
    """
    parts = [
        f"### {base} → {new} on {machine}: {_TITLES[gate.exit_code]}",
        *notes,
        sentence(gate),
        advice(gate),
    ]
    for title, lines in _lists(gate):
        parts += [title, "\n".join(f"- {line}" for line in lines[:_MAX_ROWS])]
    if means := gate.judgement.means_of("worse"):
        worse = ", ".join(f"{mean.name} {mean.change.text}" for mean in means)
        parts.append(f"**Worse on average**: {worse}")
    parts += _findings("Worse", gate.regressions)
    parts += _findings("Not enough data", gate.unknown)
    parts += _findings("Better", gate.improvements)
    if absent := gate.judgement.absent:
        rows = [(out.case.benchmark, out.case.config, out.text) for out in absent]
        parts += ["**Not compared**", markdown_table(("Benchmark", "Config", "Why"), rows)]
    parts.append(_METHOD)
    if address:
        parts.append(f"The whole report: {address}")
    return "\n\n".join(filter(None, parts)) + "\n"


def _lists(gate: Gate) -> list[tuple[str, list[str]]]:
    """Titles, each with the lines under it."""
    graph_breaks = []
    for each in gate.graph_breaks:
        place = each["location"] or "place unknown"
        reason = shorten(each["reason"], _MAX_REASON, placeholder=" …")
        graph_breaks.append(f"{each['benchmark']} {each['config']}: `{place}`: {reason}")
    titled = {
        "**Not measured**": gate.not_measured,
        "**Fails now, passed on the base**": [each.text for each in gate.judgement.breaks],
        "**Failed, which proves nothing yet**": [each.text for each in gate.judgement.undecided],
        "**New graph breaks**": graph_breaks,
    }
    return [(title, lines) for title, lines in titled.items() if lines]


def _findings(title: str, findings: Sequence[Finding]) -> list[str]:
    if not findings:
        return []
    parts = [f"**{title}**", markdown_table(_HEADER, map(_cells, findings[:_MAX_ROWS]))]
    if len(findings) > _MAX_ROWS:
        parts.append(f"… and {len(findings) - _MAX_ROWS} more.")
    return parts


def _cells(finding: Finding) -> tuple[str, ...]:
    case, effect = finding.row.case, finding.effect
    base, new = (quantity(finding.metric, level) for level in effect.levels)
    change, part = effect.change.text, finding.row.changed_part
    return case.benchmark, case.config, finding.metric.label, base, new, change, part


def document(gate: Gate) -> dict[str, Any]:
    """The answer for programs."""
    not_compared = [
        {"benchmark": out.case.benchmark, "config": out.case.config, "why": out.text}
        for out in gate.judgement.absent
    ]
    return {
        "state": gate.state,
        "exit_code": gate.exit_code,
        "sentence": sentence(gate),
        "advice": advice(gate),
        "processes_needed": gate.processes,
        "regressions": list(map(_finding_document, gate.regressions)),
        "unknown": list(map(_finding_document, gate.unknown)),
        "improvements": list(map(_finding_document, gate.improvements)),
        "unchanged": gate.unchanged,
        "broken": [failure.text for failure in gate.judgement.breaks],
        "new_graph_breaks": gate.graph_breaks,
        "not_measured": gate.not_measured,
        "not_compared": not_compared,
    }


def _finding_document(finding: Finding) -> dict[str, Any]:
    case, effect = finding.row.case, finding.effect
    ratio = effect.ratio
    percent = low = high = None
    if ratio:
        percent = ratio.percent
        if ratio.is_known:
            low, high = ratio.low, ratio.high
    return {
        "benchmark": case.benchmark,
        "config": case.config,
        "metric": finding.metric.key,
        "unit": finding.metric.unit,
        "base": effect.levels[0],
        "new": effect.levels[1],
        "change": effect.change.text,
        "percent": percent,
        "low_percent": low,
        "high_percent": high,
        "base_processes": effect.base.n,
        "new_processes": effect.new.n,
        "which_part": finding.row.changed_part,
    }
