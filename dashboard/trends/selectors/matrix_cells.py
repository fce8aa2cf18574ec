"""Content of a cell of the matrix: a case's value, its change against a base, or its failure."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dashboard.catalog.core.versions import short_label
from dashboard.language.metrics import EAGER, METRICS, Metric
from dashboard.language.states import label
from dashboard.language.wording import ValueChange, change, interval, quantity, quiet
from dashboard.results.selectors.rollup import CaseRollup, Newest
from dashboard.trends.core.heat import change_heat, speedup_heat

SPEEDUP = METRICS["speedup"]
_CONTROL = METRICS["eager_latency_ms"]


@dataclass(frozen=True, slots=True)
class MatrixQuery:
    """Selection that the matrix shows.

    base: the cases of the base build by (benchmark, config); None without a base.
    order: a key of ORDERS, or a config, best first; with "-" before it worst first.
    builds: the labels of those that were measured at the place, the newest first.
    newest: the label of the build that every cell is of where it names no other.
    """

    metric: Metric = SPEEDUP
    base: Mapping[tuple[str, str], CaseRollup] | None = None
    status: str = ""
    order: str = ""
    builds: Sequence[str] = ()
    newest: str = ""

    @property
    def metrics(self) -> set[str]:
        """The metrics that its cells need."""
        keys = {"speedup", "latency_ms", self.metric.key}
        if self.metric == SPEEDUP:
            keys.add(_CONTROL.key)
        return keys

    def base_of(self, case: CaseRollup) -> CaseRollup | None:
        """The same case on the base build; None where it was not measured there."""
        if self.base is None:
            return None
        return self.base.get((case.benchmark, case.config))

    def base_value(self, case: CaseRollup) -> float | None:
        """The value of the same case on the base build, of the same version of its benchmark."""
        base = self.base_of(case)
        if base is None or _is_of_another_version(base, case):
            return None
        return base.value(self.metric.key)


class MatrixCell(NamedTuple):
    """One case as the matrix shows it. A tuple: a page makes thousands of them.

    text: the value, its change against the base, or the status word.
    heat: −4 (worse) … 4 (better).
    about: what hover and screen readers add.
    goodness: what it is sorted by, larger is better; None where there is nothing to sort by.
    is_older: of an older version of the benchmark than its row shows.
    build: the build that the value is of, where its case was not measured on the newest one.
    """

    case: CaseRollup
    text: str
    heat: int
    about: str
    goodness: float | None = None
    change: ValueChange | None = None
    is_older: bool = False
    build: str = ""

    @property
    def is_quiet(self) -> bool:
        """True if it says why there is no value."""
        return self.text.startswith("–")


def make_cell(case: CaseRollup, query: MatrixQuery) -> MatrixCell:
    """Make the cell of one case; that of an older build has no colour, but the build's name."""
    shown = case.latest if case.failed else case.newest.get(query.metric.key, case.latest)
    return _named(_cell(case, query), shown, query)


def _named(cell: MatrixCell, shown: Newest | None, query: MatrixQuery) -> MatrixCell:
    if shown is None or not shown.age:
        return cell
    about = f"not measured on {short_label(query.newest)}; {cell.about}"
    return cell._replace(heat=0, about=about, build=short_label(shown.build or ""))


def _cell(case: CaseRollup, query: MatrixQuery) -> MatrixCell:
    metric = query.metric
    if case.failed:
        about = _about(case.latest, f"the last job ended {case.status}")
        return MatrixCell(case, label(case.status), 0, about)
    latency = case.newest.get("latency_ms")
    if metric == SPEEDUP and case.config == EAGER:
        return MatrixCell(case, _latency(case), 0, _about(latency, "the eager control"))

    newest = case.newest.get(metric.key)
    if newest is None or newest.value is None:
        why_not = f"no {_label(metric)} was measured"
        if metric == SPEEDUP:
            about = _about(latency, why_not, f"{_latency(case)} per step")
            return MatrixCell(case, "– no eager", 0, about)
        return MatrixCell(case, "–", 0, why_not)
    if query.base is not None:
        return _change_cell(case, newest, newest.value, query)
    return _value_cell(case, newest, newest.value, metric)


def _about(newest: Newest | None, *parts: str) -> str:
    """Join what a cell's title says of its datum, and last the build that it is of."""
    build = f"PyTorch {newest.build}" if newest and newest.build else ""
    return "; ".join(filter(None, (*parts, build)))


def older_cell(case: CaseRollup, newest_version: int) -> MatrixCell:
    """A case that was last measured with an older version of the benchmark than its row shows.

    Without its value: it is of another workload.
    """
    about = f"last measured with version {case.version}; the row shows version {newest_version}"
    return MatrixCell(case, "– older version", 0, about, is_older=True)


def eager_cell(cases: Iterable[CaseRollup], query: MatrixQuery) -> MatrixCell | None:
    """Eager's step on the newest build that measured it, next to speedups: from the jobs of the
    first compiled case, which those are of; its own jobs only where they are of a newer build.
    """
    own, controls = None, []
    for case in cases:
        control = case.newest.get(_CONTROL.key)
        if case.config == EAGER:
            own = case
        elif control and control.value is not None and not case.failed:
            controls.append((control.age, case.config_position, control, case))
    if not controls:
        return make_cell(own, query) if own else None
    age, _, control, case = min(controls, key=lambda each: each[:2])
    if own and (own.failed or (own.latest and own.latest.age < age)):
        return make_cell(own, query)
    about = _about(control, f"the eager control in the jobs of {case.config}")
    return _named(MatrixCell(case, quantity(_CONTROL, control.value), 0, about), control, query)


def _value_cell(case: CaseRollup, newest: Newest, value: float, metric: Metric) -> MatrixCell:
    speedup = _speedup_of_build(case, newest.build)
    next_to_it = f"{_latency(case)} per step"
    if metric != SPEEDUP:
        next_to_it = f"speedup {quantity(SPEEDUP, speedup)}" if speedup else ""
    ends = interval(metric, newest.low, newest.high)
    about = _about(newest, next_to_it, f"95% interval {ends}" if ends else "")

    heat = speedup_heat(speedup)
    goodness = -value if metric.lower_is_better else value
    return MatrixCell(case, quantity(metric, value), heat, about, goodness)


def _change_cell(case: CaseRollup, newest: Newest, value: float, query: MatrixQuery) -> MatrixCell:
    metric = query.metric
    text = quantity(metric, value)
    before = query.base_value(case)
    if before is None:
        about = _about(newest, f"{_why_no_base(case, query)}: no change to tell")
        return MatrixCell(case, text, 0, about)

    moved = change(metric, before, value)
    return MatrixCell(
        case,
        text=doubted(moved, metric) or text,
        heat=change_heat(metric, before, value),
        about=_about(newest, f"{quantity(metric, before)} before, {text} now"),
        goodness=_improvement(metric, before, value),
        change=moved,
    )


def doubted(moved: ValueChange | None, metric: Metric) -> str:
    """A change in words, with a ? where the spread between processes may be behind it."""
    if moved is None:
        return ""
    shown = quiet(moved, metric)
    return f"? {moved.text}" if shown and shown.tone == "unknown" else moved.text


def _why_no_base(case: CaseRollup, query: MatrixQuery) -> str:
    base = query.base_of(case)
    if base and _is_of_another_version(base, case):
        return f"the base measured version {base.version} of the benchmark"
    if base and base.failed:
        return f"the base ended with {base.status}"
    return "not measured with the base"


def _improvement(metric: Metric, before: float, value: float) -> float:
    """Measure how much a value improved, by ratio where both are positive; negative where worse."""
    size = abs(value - before)
    if value > 0 and before > 0:
        size = abs(math.log(value / before))
    is_better = (value < before) == metric.lower_is_better
    return size if is_better else -size


def _latency(case: CaseRollup) -> str:
    latency = case.newest.get("latency_ms")
    if not latency:
        return "no latency"
    # Without its interval, whose width would give each cell of a column other digits
    return quantity(METRICS["latency_ms"], latency.value)


def _speedup_of_build(case: CaseRollup, build: str | None) -> float | None:
    """The newest speedup; None of eager, and where it was measured on another build."""
    newest = case.newest.get("speedup")
    if newest is None or newest.build != build or case.config == EAGER:
        return None
    return newest.value


def _label(metric: Metric) -> str:
    """The label within a sentence: lower case, unless it begins with an abbreviation."""
    if metric.label[:2].isupper():
        return metric.label
    return metric.label.lower()


def _is_of_another_version(base: CaseRollup, case: CaseRollup) -> bool:
    are_stated = base.version > 0 and case.version > 0
    return are_stated and base.version != case.version
