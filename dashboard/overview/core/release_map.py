"""Map of a machine's releases: each model with its change from the build before. Pure."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from dashboard.comparisons.core.case_samples import CaseSamples
from dashboard.comparisons.core.matching import CaseMeasurements, Side
from dashboard.comparisons.core.means import MetricMean
from dashboard.comparisons.core.upgrade_groups import CaseGroup, GroupName, UpgradeReport
from dashboard.judgement.changes import DECIDED, Change, Grade, SetVerdict, Verdict
from dashboard.judgement.words import graded, in_words
from dashboard.language.metrics import EAGER, METRICS
from dashboard.language.wording import quantity

Compare = Callable[[int, int], UpgradeReport]  # of two places in the builds
MARKS = {"cold_start_s": "start", "peak_memory_gb": "memory", "drift": "accuracy"}
_DEPTHS = (5.0, 20.0)  # percent, from which a cell is darker
_FEWEST_AGAINST_EAGER = 2


@dataclass(frozen=True, slots=True)
class MapCell:
    """Change of a model by a build: its step, and in the corner what else got worse or better.

    base, new: labels of the builds. passed_over: those between them that did not measure it.
    first, since_first: of the newest build its change from the first one, where that is another.
    """

    base: str
    new: str
    passed_over: Sequence[str]
    group: CaseGroup
    first: str = ""
    since_first: CaseGroup | None = None

    @property
    def step(self) -> MetricMean | None:
        """The compiled step; the GPU's own time where that is decided and the step is not."""
        steps, device = self.group.steps, self.group.mean_of("device_ms")
        is_open = steps is None or steps.verdict == "unclear"
        if is_open and device and device.counts and device.verdict != "unclear":
            return device
        return steps

    @property
    def verdict(self) -> SetVerdict:
        return self.step.verdict if self.step else "unclear"

    @property
    def change(self) -> Change | None:
        return self.step.mean if self.step else None

    @property
    def grade(self) -> Grade | None:
        step = self.step
        return (step.mean.grade or step.answer.grade) if step else None

    @property
    def text(self) -> str:
        """ "+48": percent that the step got slower; the sign of two that are opposed."""
        if self.change is None or self.verdict in ("unclear", "same"):
            return ""
        if self.verdict == "mixed":
            return "▲▼"
        amount = self.change.amount
        return f"{amount:+.{0 if abs(amount) >= 1 else 1}f}".replace("-", "−")

    @property
    def depth(self) -> int:
        return 1 + sum(abs(self.change.amount) >= depth for depth in _DEPTHS) if self.change else 1

    @property
    def marks(self) -> list[tuple[str, Verdict, str]]:
        """(what, worse or better, since which build) of what changed besides the step."""
        marks: dict[tuple[str, Verdict], str] = dict.fromkeys(_marks(self.group), self.base)
        if self.since_first:
            for mark in _marks(self.since_first):
                marks.setdefault(mark, self.first)
        return [(*mark, since) for mark, since in marks.items()]

    @property
    def about(self) -> str:
        """Words for who hovers or listens: the step, the marks, builds passed over."""
        parts = [f"{self.base} to {self.new}: {self.group.title}"]
        if self.step and self.change:
            parts.append(f"{self.step.name} {in_words(self.change).text}")
            answer = graded(self.change) if self.change.verdict in DECIDED else self.verdict
            parts.append(f"{answer}, {self.change.pairs} pairs" if self.change.pairs else answer)
        else:
            parts.append("no step to compare")
        for what, verdict, since in self.marks:
            parts.append(f"{what} {verdict}{'' if since == self.base else f' than on {since}'}")
        if self.passed_over:
            parts.append(f"not measured on {', '.join(self.passed_over)}")
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class MapRow:
    """A model in a mode.

    cells: one for each build; None: not measured, FIRST: nothing before it compares.
    levels: its step on each build, of the case that most builds measured. case: that one.
    is_old: the newest build did not measure it. speedup: over eager, of the newest that did.
    """

    name: str
    mode: str
    cells: Sequence["MapCell | str | None"]
    case: str
    config: str
    levels: Sequence[float | None]
    is_old: bool
    speedup: CaseSamples | None

    @property
    def title(self) -> str:
        return self.name if self.mode == "inference" else f"{self.name} {self.mode}"

    @property
    def changes(self) -> list[MapCell]:
        return [cell for cell in self.cells if isinstance(cell, MapCell)]

    @property
    def weight(self) -> float:
        """Largest change of a step, in logs, by which rows are sorted; a likely one counts half."""
        weights = [0.0]
        for cell in self.changes:
            if cell.change and cell.change.verdict in DECIDED:
                weights.append(abs(cell.change.effect) * (1 if cell.grade == "certain" else 0.5))
        return max(weights)

    @property
    def step_now(self) -> str:
        values = [level for level in self.levels if level is not None]
        return quantity(METRICS["latency_ms"], values[-1]) if values else ""

    @property
    def is_slower_than_eager(self) -> bool:
        """Test whether every process was slower compiled than eager."""
        speedup = self.speedup
        return bool(speedup and speedup.n >= _FEWEST_AGAINST_EAGER and speedup.most < 1)


FIRST = "first"


def _marks(group: CaseGroup) -> list[tuple[str, Verdict]]:
    """List the marks, those for the worse first."""
    marks: list[tuple[str, Verdict]] = [("failure", "worse") for _ in group.judgement.breaks[:1]]
    for finding in group.judgement.decided:
        if finding.metric.key in MARKS:
            marks.append((MARKS[finding.metric.key], finding.change.verdict))
    return marks


def map_rows(
    builds: Sequence[str], sides: Sequence[Side], compare: Compare, starred: Collection[str] = ()
) -> tuple[list[MapRow], int]:
    """List the models that two builds measured, and count those of one build alone.

    builds: labels, the oldest first. sides: what each measured. compare: asked only for pairs of
    builds that follow each other for some model.
    """

    @cache
    def groups_of(before: int, after: int) -> dict[GroupName, CaseGroup]:
        return {(each.name, each.mode): each for each in compare(before, after).models}

    def group_of(before: int, after: int, name: GroupName) -> CaseGroup | None:
        """None where the two builds share no compiled case of it."""
        group = groups_of(before, after).get(name)
        return group if group and (group.answers or group.judgement.breaks) else None

    by_name = _compiled_cases(sides)
    rows = []
    for name, on_builds in by_name.items():
        measured_on = sorted(on_builds)
        if len(measured_on) < 2:
            continue
        cells: list[MapCell | str | None] = [None] * len(builds)
        cells[measured_on[0]] = FIRST
        first, newest = measured_on[0], len(builds) - 1
        for before, after in pairwise(measured_on):
            group = group_of(before, after, name)
            cells[after] = FIRST
            if group:
                passed_over = builds[before + 1 : after]
                since = (
                    group_of(first, after, name) if before != first and after == newest else None
                )
                compared = builds[before], builds[after]
                cells[after] = MapCell(*compared, passed_over, group, builds[first], since)
        rows.append(_row(name, cells, on_builds))
    rows.sort(key=lambda row: -row.weight)
    rows.sort(key=lambda row: row.name not in starred)
    return rows, len(by_name) - len(rows)


def _compiled_cases(
    sides: Sequence[Side],
) -> dict[GroupName, dict[int, list[CaseMeasurements]]]:
    """Collect each model's compiled cases by the place of their build, models in the registry's
    order.
    """
    every = [(place, measured) for place, side in enumerate(sides) for measured in side.values()]
    by_name: dict[GroupName, dict[int, list[CaseMeasurements]]] = {}
    for place, measured in sorted(every, key=lambda each: each[1].case.place):
        case = measured.case
        if case.config != EAGER and (measured.samples or measured.failures):
            by_name.setdefault((case.model, case.mode), {}).setdefault(place, []).append(measured)
    return by_name


def _row(
    name: GroupName,
    cells: Sequence[MapCell | str | None],
    measured: Mapping[int, Sequence[CaseMeasurements]],
) -> MapRow:
    counts: Counter[tuple[str, str]] = Counter()
    for _, each in _steps(measured):
        counts[each.case.key] += 1
    if not counts:
        return MapRow(*name, cells, "", "", [None] * len(cells), is_old=True, speedup=None)
    main = counts.most_common(1)[0][0]
    levels: list[float | None] = [None] * len(cells)
    newest = None
    for place, each in _steps(measured):
        if each.case.key == main:
            steps = each.newest("latency_ms")
            levels[place] = steps.value if steps else None
            newest = each
    speedup = newest.newest("speedup") if newest else None
    return MapRow(*name, cells, *main, levels, is_old=levels[-1] is None, speedup=speedup)


def _steps(
    measured: Mapping[int, Sequence[CaseMeasurements]],
) -> Iterator[tuple[int, CaseMeasurements]]:
    """Yield the cases whose step was measured, build by build, as `measured` has them."""
    for place in sorted(measured):
        for each in measured[place]:
            if each.samples.get("latency_ms"):
                yield place, each


LINEAR_TO = 2.0
FARTHEST = 50.0


def on_axis(percent: float) -> float:
    """Place a change between −1 and 1: by its size to 2%, then by its logarithm to 50%."""
    size = min(abs(percent), FARTHEST) / LINEAR_TO
    if size > 1:
        size = 1 + math.log(size)
    return math.copysign(size / (1 + math.log(FARTHEST / LINEAR_TO)), percent)
