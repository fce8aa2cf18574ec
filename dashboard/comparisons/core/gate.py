"""May this change go in? A judgement as a gate's answer. Pure.

The judgement is the one that headline and tables show (judgement.py), over the metrics that are
gated. What is unclear, or likely worse, is neither a regression nor a pass: the gate says how many
pairs should decide it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import shorten
from typing import Any, TypedDict

from dashboard.comparisons.core.answer_sentences import bound_sentence
from dashboard.comparisons.core.failures import not_measured
from dashboard.comparisons.core.judgement import JUDGED_METRICS, Finding, Judgement, judge_sides
from dashboard.comparisons.core.matching import Key, Side
from dashboard.comparisons.core.shortfall import MAX_REPEATS, Shortfall, shortfall
from dashboard.comparisons.core.tables import ComparisonRow
from dashboard.comparisons.core.upgrade_report import interval_of
from dashboard.judgement.changes import Verdict
from dashboard.judgement.words import counted, in_words
from dashboard.language.contracts import Document
from dashboard.language.exports import markdown_table
from dashboard.language.wording import quantity
from dashboard.results.core.job_pairs import added_graph_breaks

VERDICTS: tuple[Verdict, ...] = ("worse", "unclear", "better")
PASSED, WORSE, NOT_MEASURED, OPEN = 0, 1, 2, 3
"""Exit codes. Worse is what is so certainly; open what more pairs may show to be worse."""
_TITLES = {
    PASSED: "nothing got worse",
    WORSE: "worse",
    NOT_MEASURED: "measurement not possible",
    OPEN: "unclear",
}
_HEADER = ("Benchmark", "Config", "Metric", "Base", "New", "Change", "Pairs", "Part that changed")
_MAX_ROWS = 40
_MAX_REASON = 300  # characters
_METHOD = (
    "Intervals are 95%, over pairs measured in turn on one device, and hold at every look; one "
    "false discovery rate, 5%, over all cases and metrics."
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

    not_measured: cases that an environment kept from being measured, with why.
    graph_breaks: of cases with more of them, those that the base does not have.
    """

    judgement: Judgement
    not_measured: list[str]
    graph_breaks: Sequence[NewGraphBreak] = ()

    @property
    def exit_code(self) -> int:
        judgement = self.judgement
        if judgement.is_certainly_worse:
            return WORSE
        if self.not_measured:
            return NOT_MEASURED
        is_passed = judgement.answer.verdict in {"same", "better"}
        return PASSED if is_passed and judgement.findings else OPEN

    @property
    def missing(self) -> Shortfall | None:
        """Measurements to make next; None where more pairs decide nothing."""
        return shortfall(self.judgement) if self.exit_code == OPEN else None

    @property
    def pairs_needed(self) -> int | None:
        """Pairs per open case in all; None if nothing is open, or no affordable number decides."""
        missing = self.missing
        if missing is None or missing.hopeless or not self.judgement.open:
            return None
        return missing.pairs + max(finding.change.pairs for finding in self.judgement.open)


def decide(base: Side, new: Side, metrics: Sequence[str] = JUDGED_METRICS) -> Gate:
    """Judge `metrics` of every case. Sides must bring them and PART_METRICS."""
    judgement = judge_sides(base, new, metrics, is_complete=True)
    unmeasured = not_measured(base, new)
    breaks = [failure for failure in judgement.breaks if failure.case.key not in unmeasured]
    return Gate(replace(judgement, breaks=breaks), [*unmeasured.values()])


def rows_with_graph_breaks(gate: Gate) -> list[ComparisonRow]:
    """Cases with more graph breaks, of which `graph_breaks` can say where."""
    findings = gate.judgement.of_verdict("worse") + gate.judgement.of_verdict("unclear")
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


def advice(gate: Gate) -> str:
    """Recommend how to decide what is open; empty where nothing is."""
    if gate.exit_code == NOT_MEASURED:
        return "Fix what kept cases from being measured, below, and measure again."
    if gate.exit_code != OPEN:
        return ""
    if not gate.judgement.findings:
        return "No case was measured on both sides: see why below, and measure again."
    parts = []
    if gate.judgement.open:
        parts.append(_more_pairs(gate))
    if gate.judgement.undecided:
        parts.append("Some failures may be accidents: measure those cases again.")
    if any(out.lacks_data for out in gate.judgement.absent):
        parts.append("Cases were not measured on both sides: see why below.")
    return " ".join(parts)


def _more_pairs(gate: Gate) -> str:
    if gate.pairs_needed:
        return (
            f"{gate.pairs_needed} pairs of each case should decide "
            f"(`--repeats {gate.pairs_needed}`)."
        )
    bound = gate.missing.bound if gate.missing else 0.0
    return (
        f"{MAX_REPEATS} pairs would not decide: the change may be up to {bound:.1f}% worse. "
        "Quiet the machine, or gate on fewer metrics (`--metric`)."
    )


def sentence(gate: Gate) -> str:
    """The answer in a line."""
    counts = counted(gate.judgement.answer.counts)
    answer = f"{_TITLES[gate.exit_code].capitalize()}: {counts or 'nothing was compared'}."
    return f"{answer} {bound_sentence(gate.judgement)}".rstrip()


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
        worse = ", ".join(f"{mean.name} {in_words(mean.mean).text}" for mean in means)
        parts.append(f"**Worse on average**: {worse}")
    for verdict in VERDICTS:
        parts += _findings(verdict.capitalize(), gate.judgement.of_verdict(verdict))
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
    row, change = finding.row, finding.change
    base, new = (quantity(finding.metric, level) for level in row.levels)
    words = in_words(change).text
    if change.grade:
        words = f"{words}, {change.grade}"
    case = row.case.benchmark, row.case.config, finding.metric.label
    return *case, base, new, words, str(change.pairs), row.changed_part


def document(gate: Gate) -> dict[str, Any]:
    """The answer for programs."""
    answer, bound = gate.judgement.answer, gate.judgement.step_bound
    not_compared = [
        {"benchmark": out.case.benchmark, "config": out.case.config, "why": out.text}
        for out in gate.judgement.absent
    ]
    of_verdict = gate.judgement.of_verdict
    return {
        "verdict": answer.verdict,
        "grade": answer.grade,
        "exit_code": gate.exit_code,
        "sentence": sentence(gate),
        "advice": advice(gate),
        "step_bound_percent": bound if math.isfinite(bound) else None,
        "pairs_needed": gate.pairs_needed,
        "worse": list(map(_finding_document, of_verdict("worse"))),
        "unclear": list(map(_finding_document, of_verdict("unclear"))),
        "better": list(map(_finding_document, of_verdict("better"))),
        "same": len(of_verdict("same")),
        "broken": [failure.text for failure in gate.judgement.breaks],
        "new_graph_breaks": gate.graph_breaks,
        "not_measured": gate.not_measured,
        "not_compared": not_compared,
    }


def _finding_document(finding: Finding) -> dict[str, Any]:
    row, change = finding.row, finding.change
    low, high = interval_of(change)
    return {
        "benchmark": row.case.benchmark,
        "config": row.case.config,
        "metric": finding.metric.key,
        "unit": finding.metric.unit,
        "base": row.levels[0],
        "new": row.levels[1],
        "change": in_words(change).text,
        "percent": change.amount if change.is_ratio else None,
        "low_percent": low,
        "high_percent": high,
        "pairs": change.pairs,
        "verdict": change.verdict,
        "grade": change.grade,
        "base_processes": row.base.n,
        "new_processes": row.new.n,
        "which_part": row.changed_part,
    }
