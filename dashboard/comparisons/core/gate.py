"""May this change go in? Two sides as a gate's answer: passed, a regression, or not known yet.
Pure.

A regression is what people would be notified of: a metric that got significantly worse by its
threshold or more, or a case that passed on the base and only fails now. What chance may explain is
neither a regression nor a pass: it is not known yet, and the gate says how many processes should
settle it.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dashboard.comparisons.core.matching import (
    ComparisonRow,
    ExcludedCase,
    Side,
    Table,
    compare,
    compare_latency,
)
from dashboard.comparisons.core.metric_effects import Effect, EffectVerdict, repeats_exactly
from dashboard.comparisons.core.upgrade_groups import newly_failing
from dashboard.language.exports import markdown_table
from dashboard.language.metrics import METRICS, Metric
from dashboard.language.wording import quantity

GateState = Literal["passed", "regression", "unknown"]
FindingKind = Literal["regression", "unknown", "improvement", "unchanged"]

GATED_METRICS = ("latency_ms", "cold_start_s", "peak_memory_gb", "drift")
# Of each side, whatever is gated: they show which part changed
REQUIRED_METRICS = ("latency_ms", "eager_latency_ms", "speedup")
EXIT_CODES: dict[GateState, int] = {"passed": 0, "regression": 1, "unknown": 3}
MIN_PROCESSES = 3  # of a case that has no spread yet
MAX_PROCESSES = 20  # worth advising; a change that needs more lies on the threshold
_TITLES: dict[GateState, str] = {
    "passed": "no significant regression",
    "regression": "regression",
    "unknown": "not known yet",
}
_HEADER = ("Benchmark", "Config", "Metric", "Base", "New", "Change", "Which part")
_MAX_ROWS = 40
_METHOD = (
    "Intervals are 95 %, over processes; significant: false discovery rate 5 % over the cases of a "
    "metric."
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One metric of one case."""

    metric: Metric
    row: ComparisonRow

    @property
    def effect(self) -> Effect:
        return self.row.effect

    @property
    def kind(self) -> FindingKind:
        if is_regression(self.effect):
            return "regression"
        kinds: dict[EffectVerdict, FindingKind] = {"better": "improvement", "same": "unchanged"}
        return kinds.get(self.effect.verdict, "unknown")

    @property
    def processes(self) -> int:
        return min(self.effect.base.n, self.effect.new.n)


@dataclass(frozen=True, slots=True)
class Gate:
    """The answer.

    broken: cases that only fail now, in words.
    absent: cases that could not be judged, with the reason.
    processes: how many for each case and build should make the unknown known; None where nothing is
        unknown, or where it is not more data that is missing.
    """

    state: GateState
    regressions: list[Finding]
    unknown: list[Finding]
    improvements: list[Finding]
    unchanged: int
    broken: list[str]
    absent: list[ExcludedCase]
    processes: int | None

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.state]


def decide(base: Side, new: Side, metrics: Sequence[str] = GATED_METRICS) -> Gate:
    """Judge `metrics` of every case. Sides must bring them and REQUIRED_METRICS.

    1. What passed on the base and only fails now is a regression.
    2. Each metric is judged over all cases at once, so that the false discovery rate holds.
    3. One regression decides. Without one, anything unknown or not measured leaves the whole not
       known.
    """
    tables = [_table(base, new, METRICS[key]) for key in metrics]
    findings = _findings_of(tables)
    by_kind: dict[FindingKind, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_kind[finding.kind].append(finding)

    failing = newly_failing(base, new)
    failing_cases = {failure.case for failure in failing}
    # Cases that the first metric lacks. What the others lack is not a question of the case.
    absent: list[ExcludedCase] = []
    if tables:
        absent = [out for out in tables[0].left_out if out.case not in failing_cases]

    state: GateState = "passed"
    if by_kind["regression"] or failing:
        state = "regression"
    elif by_kind["unknown"] or not findings or any(map(_lacks_data, absent)):
        state = "unknown"
    return Gate(
        state=state,
        regressions=by_kind["regression"],
        unknown=by_kind["unknown"],
        improvements=by_kind["improvement"],
        unchanged=len(by_kind["unchanged"]),
        broken=[failure.text for failure in failing],
        absent=absent,
        processes=_processes_needed(by_kind["unknown"]),
    )


def _findings_of(tables: Sequence[Table]) -> list[Finding]:
    findings = []
    for table in tables:
        findings += [Finding(table.metric, row) for row in table.rows if not _is_grain(row.effect)]
    return findings


def is_regression(effect: Effect) -> bool:
    """Worse, and not by chance: by the false discovery rate, or because the metric repeats
    exactly.
    """
    if effect.verdict != "worse":
        return False
    is_exact = effect.ratio is None or repeats_exactly(effect.metric)
    return effect.is_significant or (math.isnan(effect.q) and is_exact)


def _is_grain(effect: Effect) -> bool:
    """A few kB of memory drown in the process's own, and come out below zero as well: that says
    nothing, ever.
    """
    return effect.metric.unit == "GB" and min(effect.base.least, effect.new.least) <= 0


def _table(base: Side, new: Side, metric: Metric) -> Table:
    if metric.key == "latency_ms":
        return compare_latency(base, new)
    return compare(base, new, metric)


def _lacks_data(out: ExcludedCase) -> bool:
    """Whether more measuring would bring it; what fails on both sides, or has no such metric, no
    measuring brings.
    """
    return out.why not in {"failed", "no value"}


def _processes_needed(unknown: Sequence[Finding]) -> int | None:
    """How many processes should settle all of them; None where one lies on its threshold, or where
    there are none.
    """
    needed = [processes_needed(finding.effect, finding.processes) for finding in unknown]
    most = max(needed, default=MAX_PROCESSES + 1)
    return most if most <= MAX_PROCESSES else None


def processes_needed(effect: Effect, processes: int) -> int:
    """For each build, roughly: an interval narrows with the root of their number.

    It has to leave out 0 where the change is beyond the threshold, else to fit into it.
    """
    ratio = effect.ratio
    if ratio is None or not ratio.is_known or ratio.basis in {"within", "none"}:
        return max(MIN_PROCESSES, processes + 1)
    threshold = math.log1p(effect.metric.threshold_percent / 100)
    change = abs(ratio.log)
    room = change if change >= threshold else threshold - change
    if room <= 0 or ratio.reach / room > math.sqrt(MAX_PROCESSES):
        return MAX_PROCESSES + 1
    return max(processes + 1, math.ceil(processes * (ratio.reach / room) ** 2))


def advice(gate: Gate) -> str:
    """What would make known what is not; empty where all is known."""
    if gate.state != "unknown":
        return ""
    if not (gate.unknown or gate.regressions or gate.improvements or gate.unchanged):
        return "No case was measured on both sides: see why below, and measure again."
    parts = []
    if count := len(gate.unknown):
        results = "result" if count == 1 else "results"
        parts.append(f"{count} {results} not known: {_more_data(gate)}.")
    if any(map(_lacks_data, gate.absent)):
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
        "worse": len(gate.regressions) + len(gate.broken),
        "not known": len(gate.unknown),
        "better": len(gate.improvements),
        "unchanged": gate.unchanged,
    }
    summary = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return f"{_TITLES[gate.state].capitalize()}: {summary or 'nothing was compared'}."


def markdown(gate: Gate, *, base: str, new: str, machine: str, address: str = "") -> str:
    """The answer for a pull request. address: of the whole report."""
    parts = [
        f"### {base} → {new} on {machine}: {_TITLES[gate.state]}",
        sentence(gate),
        advice(gate),
    ]
    if gate.broken:
        broken = "\n".join(f"- {case}" for case in gate.broken[:_MAX_ROWS])
        parts += ["**Fails now, passed on the base**", broken]
    parts += _findings("Worse", gate.regressions)
    parts += _findings("Not known yet", gate.unknown)
    parts += _findings("Better", gate.improvements)
    if gate.absent:
        rows = [(out.case.benchmark, out.case.config, out.text) for out in gate.absent]
        parts += ["**Not compared**", markdown_table(("Benchmark", "Config", "Why"), rows)]
    parts.append(_METHOD)
    if address:
        parts.append(f"The whole report: {address}")
    return "\n\n".join(filter(None, parts)) + "\n"


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
        for out in gate.absent
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
        "broken": gate.broken,
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
