"""May this change go in? Two sides as a gate's answer: passed, a regression, or not known yet.
Pure.

A regression is what people would be told of: a metric that got significantly worse by its threshold
or more, or a case that passed on the base and only fails now. What chance may explain is no
regression and no pass either: it is not known yet, and the gate says how many processes should
tell.
"""

import math
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
from dashboard.comparisons.core.metric_effects import Effect, repeats_exactly
from dashboard.comparisons.core.upgrade_answer import broken
from dashboard.language.exports import markdown_table
from dashboard.language.metrics import METRICS, Metric
from dashboard.language.wording import quantity

State = Literal["passed", "regression", "unknown"]

METRICS_OF_A_GATE = ("latency_ms", "cold_start_s", "peak_memory_gb", "drift")
# Of each side, whatever is gated: it tells which part changed
NEEDED = ("latency_ms", "eager_latency_ms", "speedup")
EXIT_CODES: dict[State, int] = {"passed": 0, "regression": 1, "unknown": 3}
LEAST_PROCESSES = 3  # of a case that has no spread yet
MOST_PROCESSES = 20  # worth advising; a change that needs more lies on the threshold
_TITLES: dict[State, str] = {
    "passed": "no significant regression",
    "regression": "regression",
    "unknown": "not known yet",
}
_HEADER = ("Benchmark", "Config", "Metric", "Base", "New", "Change", "Which part")
_MOST_ROWS = 40


@dataclass(frozen=True, slots=True)
class Finding:
    """One metric of one case."""

    metric: Metric
    row: ComparisonRow

    @property
    def processes(self) -> int:
        return min(self.row.effect.base.n, self.row.effect.new.n)


@dataclass(frozen=True, slots=True)
class Gate:
    """The answer. broken: cases that only fail now, in words. absent: cases that cannot be judged,
    by metric.

    processes: how many for each case and build should make the unknown known; None where nothing is
        unknown, or where
    it is not more data that is missing.
    """

    state: State
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


def decide(base: Side, new: Side, metrics: Sequence[str] = METRICS_OF_A_GATE) -> Gate:
    """Judge `metrics` of every case. Sides must bring them and what is NEEDED.

    1. What passed on the base and only fails now is a regression.
    2. Each metric is judged over all cases at once, so that the false discovery rate holds.
    3. One regression decides. Without one, anything unknown or not measured leaves the whole not
       known.
    """
    tables = [_table(base, new, METRICS[key]) for key in metrics]
    found = [
        Finding(table.metric, row)
        for table in tables
        for row in table.rows
        if not _is_grain(row.effect)
    ]
    regressions = [one for one in found if is_regression(one.row.effect)]
    unknown = [
        one for one in found if _is_unknown(one.row.effect) and not is_regression(one.row.effect)
    ]
    fails = broken(base, new)
    absent = [out for out in _absent(tables) if out.case not in {case for case, _ in fails}]
    is_unknown = unknown or not found or any(map(_lacks_data, absent))
    return Gate(
        "regression" if regressions or fails else "unknown" if is_unknown else "passed",
        regressions,
        unknown,
        [one for one in found if one.row.effect.verdict == "better"],
        sum(one.row.effect.verdict == "same" for one in found),
        [f"{case.benchmark} {case.config} ({how})" for case, how in fails],
        absent,
        _processes(unknown) if unknown else None,
    )


def is_regression(effect: Effect) -> bool:
    """Worse, and not by chance: by the false discovery rate, or because the metric repeats
    exactly.
    """
    is_exact = effect.ratio is None or repeats_exactly(effect.metric)
    return effect.verdict == "worse" and (
        effect.is_significant or (math.isnan(effect.q) and is_exact)
    )


def _is_unknown(effect: Effect) -> bool:
    return effect.verdict in {"unknown", "worse"}


def _is_grain(effect: Effect) -> bool:
    """A few kB of memory drown in the process's own, and come out below zero as well: that says
    nothing, ever.
    """
    return effect.metric.unit == "GB" and min(effect.base.least, effect.new.least) <= 0


def _table(base: Side, new: Side, metric: Metric) -> Table:
    return compare_latency(base, new) if metric.key == "latency_ms" else compare(base, new, metric)


def _absent(tables: Sequence[Table]) -> list[ExcludedCase]:
    """Each case that the first table could not judge; of the others what lacks a value is no
    question of this case.
    """
    return tables[0].left_out if tables else []


def _lacks_data(out: ExcludedCase) -> bool:
    """Whether more measuring would bring it; what fails on both sides, or has no such metric, no
    measuring brings.
    """
    return out.why not in {"failed", "no value"}


def _processes(unknown: Sequence[Finding]) -> int | None:
    """How many processes should tell of all of them; None where one lies on its threshold."""
    needed = [processes_needed(one.row.effect, one.processes) for one in unknown]
    return None if any(one > MOST_PROCESSES for one in needed) else max(needed)


def processes_needed(effect: Effect, processes: int) -> int:
    """For each build, roughly: an interval narrows with the root of their number.

    It has to leave out 0 where the change is beyond the threshold, else to fit into it.
    """
    ratio = effect.ratio
    if ratio is None or not ratio.is_known or ratio.basis in {"within", "none"}:
        return max(LEAST_PROCESSES, processes + 1)
    threshold = math.log1p(effect.metric.threshold_percent / 100)
    room = abs(ratio.log) if abs(ratio.log) >= threshold else threshold - abs(ratio.log)
    if room <= 0 or ratio.reach / room > math.sqrt(MOST_PROCESSES):
        return MOST_PROCESSES + 1
    return max(processes + 1, math.ceil(processes * (ratio.reach / room) ** 2))


def advice(gate: Gate) -> str:
    """What would make known what is not; empty where all is known."""
    if gate.state != "unknown":
        return ""
    if not (gate.unknown or gate.regressions or gate.improvements or gate.unchanged):
        return "No case was measured on both sides: see why below, and measure again."
    parts = []
    if gate.unknown:
        more = (
            (
                f"{gate.processes} processes for each case and build should tell (`--repeats "
                f"{gate.processes}`)"
            )
            if gate.processes
            else f"the change lies on the threshold, so {MOST_PROCESSES} processes for each "
            "case and build would not "
            "tell: quieten the machine, or gate on fewer metrics (`--metric`)"
        )
        parts.append(f"{_count(len(gate.unknown), 'result')} not known: {more}.")
    if any(map(_lacks_data, gate.absent)):
        parts.append("Cases were not measured on both sides: see why below.")
    return " ".join(parts)


def sentence(gate: Gate) -> str:
    """The answer in a line."""
    counts = [
        (len(gate.regressions) + len(gate.broken), "worse"),
        (len(gate.unknown), "not known"),
        (len(gate.improvements), "better"),
        (gate.unchanged, "unchanged"),
    ]
    told = ", ".join(f"{count} {word}" for count, word in counts if count)
    return f"{_TITLES[gate.state].capitalize()}: {told or 'nothing was compared'}."


def markdown(gate: Gate, *, base: str, new: str, machine: str, address: str = "") -> str:
    """The answer for a pull request. address: of the whole report."""
    parts = [f"### {base} → {new} on {machine}: {_TITLES[gate.state]}", sentence(gate)]
    if said := advice(gate):
        parts.append(said)
    parts += _fails(gate)
    for title, findings in (
        ("Worse", gate.regressions),
        ("Not known yet", gate.unknown),
        ("Better", gate.improvements),
    ):
        if findings:
            parts += [f"**{title}**", markdown_table(_HEADER, map(_cells, findings[:_MOST_ROWS]))]
            parts += (
                [f"… and {len(findings) - _MOST_ROWS} more."] if len(findings) > _MOST_ROWS else []
            )
    if gate.absent:
        parts += [
            "**Not compared**",
            markdown_table(("Benchmark", "Config", "Why"), map(_why, gate.absent)),
        ]
    parts.append(
        "Intervals are 95 %, over processes; significant: false discovery rate 5 % over the "
        "cases of a metric."
    )
    return "\n\n".join([*parts, *([f"The whole report: {address}"] if address else [])]) + "\n"


def document(gate: Gate) -> dict[str, Any]:
    """The answer for programs."""
    return {
        "state": gate.state,
        "exit_code": gate.exit_code,
        "sentence": sentence(gate),
        "advice": advice(gate),
        "processes_needed": gate.processes,
        "regressions": [_told(one) for one in gate.regressions],
        "unknown": [_told(one) for one in gate.unknown],
        "improvements": [_told(one) for one in gate.improvements],
        "unchanged": gate.unchanged,
        "broken": gate.broken,
        "not_compared": [
            {"benchmark": out.case.benchmark, "config": out.case.config, "why": out.text}
            for out in gate.absent
        ],
    }


def _fails(gate: Gate) -> list[str]:
    if not gate.broken:
        return []
    return [
        "**Fails now, passed on the base**",
        "\n".join(f"- {one}" for one in gate.broken[:_MOST_ROWS]),
    ]


def _cells(found: Finding) -> tuple[str, ...]:
    case, effect = found.row.case, found.row.effect
    sides = (quantity(found.metric, level) for level in effect.levels)
    return (
        case.benchmark,
        case.config,
        found.metric.label,
        *sides,
        effect.change.text,
        found.row.share,
    )


def _why(out: ExcludedCase) -> tuple[str, str, str]:
    return out.case.benchmark, out.case.config, out.text


def _told(found: Finding) -> dict[str, Any]:
    case, effect = found.row.case, found.row.effect
    ratio = effect.ratio
    is_known = ratio is not None and ratio.is_known
    return {
        "benchmark": case.benchmark,
        "config": case.config,
        "metric": found.metric.key,
        "unit": found.metric.unit,
        "base": effect.levels[0],
        "new": effect.levels[1],
        "change": effect.change.text,
        "percent": ratio.percent if ratio else None,
        "low_percent": ratio.low if ratio and is_known else None,
        "high_percent": ratio.high if ratio and is_known else None,
        "base_processes": effect.base.n,
        "new_processes": effect.new.n,
        "which_part": found.row.share,
    }


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
