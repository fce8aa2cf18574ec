"""Where in a trend the environment changed otherwise than by the torch build: driver, libraries,
settings, machine.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from dashboard.models import Environment
from dashboard.results.core.environments import Difference, environment_differences
from dashboard.results.core.mark_charts import Mark
from dashboard.ui.charts import ChartLine

_OF_BUILD = "torch."  # builds have their own marks
_MOST_TOLD = 3
_TWO = 2


def moves(lines: Sequence[ChartLine]) -> list[Mark]:
    """A mark for each moment at which an environment followed another one, in time order. At most
    one query.
    """
    found = sorted({move for line in lines for move in _of(line)})
    if not found:
        return []
    documents = {
        key: one.document for key, one in Environment.objects.in_bulk(_keys(found)).items()
    }
    told = [
        (at, _text(environment_differences(documents[old], documents[new])))
        for at, old, new in found
    ]
    return [Mark(at, text) for at, text in dict.fromkeys(told) if text]


def _of(line: ChartLine) -> Iterable[tuple[int, int, int]]:
    """(milliseconds, environment before, environment after) where it changed."""
    if len({*line.environment} - {None}) < _TWO:  # the rule, and quick
        return []
    known = [
        (int(at), key)
        for at, key in zip(line.at_ms, line.environment, strict=True)
        if key is not None
    ]
    return [(at, old, new) for (_, old), (at, new) in pairwise(known) if old != new]


def _keys(found: Iterable[tuple[int, int, int]]) -> set[int]:
    return {key for _, old, new in found for key in (old, new)}


def _text(differences: Iterable[Difference]) -> str:
    """ "machine.driver: 580.1 → 590.2"; empty where only the build differs."""
    told = [one.text for one in differences if not one.path.startswith(_OF_BUILD)]
    more = f" and {len(told) - _MOST_TOLD} more" if len(told) > _MOST_TOLD else ""
    return "; ".join(told[:_MOST_TOLD]) + more
