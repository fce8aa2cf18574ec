"""Moments in a trend when the environment changed otherwise than by its torch build: driver,
libraries, settings, machine.
"""

from collections.abc import Sequence
from itertools import pairwise

from dashboard.models import Environment
from dashboard.results.core.environments import Difference, environment_differences
from dashboard.results.core.mark_charts import Mark
from dashboard.ui.charts import ChartLine

_OF_BUILD = "torch."  # builds have their own marks
_LIBRARIES = "libraries."
_MOST_NAMED = 3

Move = tuple[int, int, int]  # milliseconds, environment before, environment after


def moves(lines: Sequence[ChartLine]) -> list[Mark]:
    """A mark for each moment at which an environment followed another one, in time order.

    At most one query.
    """
    changed: set[Move] = set()
    environments: set[int] = set()
    for line in lines:
        for at, old, new in _moves_of(line):
            changed.add((at, old, new))
            environments |= {old, new}
    if not changed:
        return []

    rows = Environment.objects.in_bulk(environments)
    marks: dict[Mark, None] = {}  # in order, each once
    for at, old, new in sorted(changed):
        differences = environment_differences(rows[old].document, rows[new].document)
        shown = [change for change in differences if not change.path.startswith(_OF_BUILD)]
        if shown:
            marks[Mark(at, _text(shown), short=_short(shown))] = None
    return list(marks)


def _moves_of(line: ChartLine) -> list[Move]:
    if len({*line.environment} - {None}) <= 1:  # the rule, and quick
        return []
    points = zip(line.at_ms, line.environment, strict=True)
    recorded = [(int(at), key) for at, key in points if key is not None]
    return [(at, old, new) for (_, old), (at, new) in pairwise(recorded) if old != new]


def _text(differences: Sequence[Difference]) -> str:
    """ "machine.driver: 580.1 → 590.2"."""
    text = "; ".join(change.text for change in differences[:_MOST_NAMED])
    more = len(differences) - _MOST_NAMED
    return f"{text} and {more} more" if more > 0 else text


def _short(differences: Sequence[Difference]) -> str:
    """ "driver changed", "3 libraries changed"."""
    if len(differences) == 1:
        return f"{differences[0].path.rpartition('.')[2]} changed"
    if all(change.path.startswith(_LIBRARIES) for change in differences):
        return f"{len(differences)} libraries changed"
    return f"{len(differences)} changes"
