"""Map of a machine: each model with its change by each build of a row of builds. Pure."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from dashboard.catalog.core.versions import short_label
from dashboard.comparisons.core.case_samples import CaseSamples
from dashboard.comparisons.core.matching import CaseMeasurements, Side
from dashboard.comparisons.core.means import MetricMean
from dashboard.comparisons.core.upgrade_groups import CaseGroup, GroupName, UpgradeReport
from dashboard.judgement.changes import DECIDED, Change, Grade, SetVerdict, Verdict
from dashboard.judgement.words import ORDER, graded, in_words
from dashboard.language.metrics import EAGER, METRICS
from dashboard.language.wording import quantity

Compare = Callable[[int, int], UpgradeReport]  # of two places in the builds
STEP_METRICS = ("latency_ms", "throughput_per_s", "speedup")
"""A row's level is of the first that was measured: other tools' files may have no latency."""
MARKS = {"cold_start_s": "start", "peak_memory_gb": "memory", "drift": "accuracy"}
FIRST = "first"
"""Cell of a build before which nothing compares."""
_DEPTHS = (5.0, 20.0)  # percent, from which a cell is darker
_NIGHT = re.compile(r"\.dev\d{4}(\d\d)(\d\d)")
_FEWEST_PROCESSES = 2  # of a config, before it is said to be faster or slower than another


class Mark(NamedTuple):
    """Change of a model besides its step. since: the build that it is compared with."""

    what: str
    verdict: Verdict
    since: str
    change: Change | None = None


@dataclass(frozen=True, slots=True)
class MapCell:
    """Change of a model by a build: its step, and in the corner what else got worse or better.

    base, new: labels of the builds. name: of what changed. passed_over: builds between the two
    that did not measure it. alert: of the detector's finding, where it is one.
    """

    base: str
    new: str
    model: str
    mode: str
    change: Change | None
    verdict: SetVerdict
    grade: Grade | None = None
    name: str = ""
    marks: Sequence[Mark] = ()
    passed_over: Sequence[str] = ()
    alert: int | None = None

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
    def about(self) -> str:
        """Words for who hovers or listens: the step, the marks, builds passed over."""
        builds = f"{self.base} to {self.new}" if self.base else self.new
        parts = [f"{builds}: {self.model} {self.mode}".rstrip()]
        if self.change:
            parts.append(f"{self.name} {in_words(self.change).text}")
            answer = graded(self.change) if self.change.verdict in DECIDED else self.verdict
            parts.append(f"{answer}, {self.change.pairs} pairs" if self.change.pairs else answer)
        else:
            parts.append("no change found" if self.verdict == "same" else "no step to compare")
        for what, verdict, since, _ in self.marks:
            parts.append(f"{what} {verdict}{'' if since == self.base else f' than on {since}'}")
        if self.passed_over:
            parts.append(f"not measured on {', '.join(self.passed_over)}")
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class MapRow:
    """A model in a mode.

    cells: one for each build; None: not measured. case, config: those that most builds measured.
    metric: of STEP_METRICS. levels: on each build, of that case. is_old: the newest build did not
    measure it. speedup: over eager, of the newest that did. better: a config that is faster.
    """

    name: str
    mode: str
    cells: Sequence["MapCell | str | None"]
    case: str = ""
    config: str = ""
    metric: str = STEP_METRICS[0]
    levels: Sequence[float | None] = ()
    is_old: bool = True
    speedup: CaseSamples | None = None
    better: str = ""

    @property
    def title(self) -> str:
        return self.name if self.mode in ("", "inference") else f"{self.name} {self.mode}"

    @property
    def changes(self) -> list[MapCell]:
        return [cell for cell in self.cells if isinstance(cell, MapCell)]

    @property
    def weight(self) -> float:
        """Largest change of a step, in logs, by which rows are sorted; a likely one counts half."""
        weights = [0.0]
        for cell in self.changes:
            if cell.change and cell.text:
                weights.append(abs(cell.change.effect) * (1 if cell.grade == "certain" else 0.5))
        return max(weights)

    @property
    def is_quiet(self) -> bool:
        return not self.weight

    @property
    def step_now(self) -> str:
        values = [level for level in self.levels if level is not None]
        return quantity(METRICS[self.metric], values[-1]) if values else ""

    @property
    def is_slower_than_eager(self) -> bool:
        """Test whether every process was slower compiled than eager."""
        speedup = self.speedup
        return bool(speedup and speedup.n >= _FEWEST_PROCESSES and speedup.most < 1)


@dataclass(frozen=True, slots=True)
class MapColumn:
    """A build. name: its label, as short as tells it from the others.

    counts: models by the verdict of their step, in the order of words.ORDER.
    """

    label: str
    name: str
    counts: Sequence[tuple[SetVerdict, int]]


def release_rows(
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

    by_name = compiled_cases(sides)
    rows = []
    for name, on_builds in by_name.items():
        measured_on = sorted(on_builds)
        if len(measured_on) < 2:
            continue
        cells: list[MapCell | str | None] = [None] * len(builds)
        cells[measured_on[0]] = FIRST
        first, newest = measured_on[0], len(builds) - 1
        for before, after in pairwise(measured_on):
            cells[after] = FIRST
            group = group_of(before, after, name)
            if group is None:
                continue
            marks = _marks(group, builds[before])
            if before != first and after == newest:
                since_first = group_of(first, after, name)
                noted = {(mark.what, mark.verdict) for mark in marks}
                for mark in _marks(since_first, builds[first]) if since_first else ():
                    if (mark.what, mark.verdict) not in noted:
                        marks.append(mark)
            cells[after] = _cell(group, builds[before : after + 1], marks)
        rows.append(row_of(name, cells, on_builds))
    return in_order(rows, starred), len(by_name) - len(rows)


def in_order(rows: list[MapRow], starred: Collection[str]) -> list[MapRow]:
    return sorted(rows, key=lambda row: (row.name not in starred, -row.weight))


def _cell(group: CaseGroup, builds: Sequence[str], marks: Sequence[Mark]) -> MapCell:
    """builds: the two that are compared, and those between them."""
    step = _step(group)
    return MapCell(
        builds[0],
        builds[-1],
        group.name,
        group.mode,
        step.mean if step else None,
        step.verdict if step else "unclear",
        (step.mean.grade or step.answer.grade) if step else None,
        step.name if step else "",
        marks,
        builds[1:-1],
    )


def _step(group: CaseGroup) -> MetricMean | None:
    """The compiled step; the GPU's own time where that is decided and the step is not."""
    steps, device = group.steps, group.mean_of("device_ms")
    is_open = steps is None or steps.verdict == "unclear"
    if is_open and device and device.counts and device.verdict != "unclear":
        return device
    return steps


def _marks(group: CaseGroup, since: str) -> list[Mark]:
    """List the marks, those for the worse first."""
    marks = (
        {("failure", "worse"): Mark("failure", "worse", since)} if group.judgement.breaks else {}
    )
    for finding in group.judgement.decided:
        if finding.metric.key in MARKS:
            mark = Mark(MARKS[finding.metric.key], finding.change.verdict, since, finding.change)
            marks.setdefault((mark.what, mark.verdict), mark)
    return [*marks.values()]


def compiled_cases(
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


def row_of(
    name: GroupName,
    cells: Sequence[MapCell | str | None],
    measured: Mapping[int, Sequence[CaseMeasurements]],
) -> MapRow:
    for metric in STEP_METRICS:
        counts = Counter(each.case.key for _, each in _with(metric, measured))
        if counts:
            break
    else:
        return MapRow(*name, cells, levels=[None] * len(cells))
    main = counts.most_common(1)[0][0]
    levels: list[float | None] = [None] * len(cells)
    newest = None
    for place, each in _with(metric, measured):
        if each.case.key == main:
            steps = each.newest(metric)
            levels[place] = steps.value if steps else None
            newest = each
    return MapRow(
        *name,
        cells,
        *main,
        metric,
        levels,
        is_old=levels[-1] is None,
        speedup=newest.newest("speedup") if newest else None,
        better=_faster_config(main.benchmark, main.config, measured),
    )


def _with(
    metric: str, measured: Mapping[int, Sequence[CaseMeasurements]]
) -> Iterator[tuple[int, CaseMeasurements]]:
    """Yield the cases of which that was measured, build by build, as `measured` has them."""
    for place in sorted(measured):
        for each in measured[place]:
            if each.samples.get(metric):
                yield place, each


def _faster_config(
    benchmark: str, config: str, measured: Mapping[int, Sequence[CaseMeasurements]]
) -> str:
    """Name the fastest other compiled config of which, on the newest build that measured both,
    every process was faster than every one of this; else nothing.
    """
    for place in sorted(measured, reverse=True):
        steps = {}
        for each in measured[place]:
            samples = each.newest("latency_ms")
            if each.case.benchmark == benchmark and samples and samples.n >= _FEWEST_PROCESSES:
                steps[each.case.config] = samples
        own = steps.pop(config, None)
        others = {name: each for name, each in steps.items() if not name.startswith(EAGER)}
        if own and others:
            fastest = min(others, key=lambda name: others[name].value)
            return fastest if others[fastest].most < own.least else ""
    return ""


def columns_of(labels: Sequence[str], rows: Sequence[MapRow]) -> list[MapColumn]:
    names = [short_label(label) for label in labels]
    counts_of_names = Counter(names)
    columns = []
    for place, label in enumerate(labels):
        cells = [row.cells[place] for row in rows]
        counts = Counter(cell.verdict for cell in cells if isinstance(cell, MapCell))
        shares = [(word, counts[word]) for word in ORDER if counts[word]]
        name = names[place] if counts_of_names[names[place]] == 1 else label
        night = _NIGHT.search(label)
        if night:
            name = f"{night[1]}-{night[2]}"
        columns.append(MapColumn(label, name, shares))
    return columns
