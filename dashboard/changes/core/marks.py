"""Places of the marks of pairs and processes on one axis. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_EDGE = 3.0  # percent of the width that is left free at either end


@dataclass(frozen=True, slots=True)
class Axis:
    """From the least to the most value that is drawn."""

    least: float
    most: float

    def place(self, value: float) -> float:
        """In percent of the width."""
        span = (self.most - self.least) or 1.0
        return round(_EDGE + (100 - 2 * _EDGE) * (value - self.least) / span, 2)


class PairMark(NamedTuple):
    """A pair as two marks. percent: new against base; None where base is zero."""

    base: float
    new: float
    percent: float | None


class BuildMarks(NamedTuple):
    """The processes of one build. spread: by how many percent they differ; None of a single one."""

    build: str
    places: Sequence[float]
    spread: float | None


@dataclass(frozen=True, slots=True)
class Marks:
    axis: Axis
    pairs: Sequence[PairMark]
    builds: Sequence[BuildMarks]


def marks(
    pairs: Iterable[tuple[float, float]], processes: Iterable[tuple[str, Sequence[float]]]
) -> Marks | None:
    """Every pair, and all processes of each build; None of nothing."""
    in_turn = list(pairs)
    by_build = [(build, values) for build, values in processes if values]
    every = [value for pair in in_turn for value in pair]
    every += [value for _, values in by_build for value in values]
    if not every:
        return None
    axis = Axis(min(every), max(every))
    drawn = []
    for base, new in in_turn:
        percent = 100 * (new / base - 1) if base > 0 else None
        drawn.append(PairMark(axis.place(base), axis.place(new), percent))
    builds = []
    for build, values in by_build:
        least, most = min(values), max(values)
        spread = 100 * (most / least - 1) if len(values) > 1 and least > 0 else None
        builds.append(BuildMarks(build, [axis.place(value) for value in values], spread))
    return Marks(axis, drawn, builds)
