"""Sessions of imported results, which their files do not say.

What a device measured on one day, in UTC, counts as a session; whether builds took turns in it,
their start times have to show (judgement/pairs.py). What it went on to measure over midnight,
without a break of more than an hour, belongs to the day on which it began, for twelve hours at
most. What has a name keeps it: results that are added later do not change it.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from dashboard.results.core.result_format import ResultDocument

LONGEST_BREAK = timedelta(hours=1)
LONGEST = timedelta(hours=12)  # a machine that never rests changes, too


@dataclass(slots=True)
class _Stretch:
    """Time in which a device measured without a longer break."""

    first: datetime
    last: datetime

    def includes(self, began: datetime) -> bool:
        latest = min(self.last + LONGEST_BREAK, self.first + LONGEST)
        return self.first <= began < latest


class Sessions:
    """The sessions of the results that were added."""

    def __init__(self, results: Iterable[ResultDocument] = ()) -> None:
        self._stretches: dict[tuple[str, date], list[_Stretch]] = defaultdict(list)
        self.add(results)

    def add(self, results: Iterable[ResultDocument]) -> None:
        for result in sorted(results, key=lambda result: result.planned_at):
            stretch = self._stretch_of(result)
            stretch.last = max(stretch.last, result.finished_at)

    def name(self, result: ResultDocument) -> str:
        """The day on which the session began, as YYYY-MM-DD."""
        return day_of(self._stretch_of(result).first).isoformat()

    def _stretch_of(self, result: ResultDocument) -> _Stretch:
        day = day_of(result.planned_at)
        for began in (day, day - timedelta(days=1)):
            for stretch in self._stretches[result.device, began]:
                if stretch.includes(result.planned_at):
                    return stretch
        stretch = _Stretch(result.planned_at, result.finished_at)
        self._stretches[result.device, day].append(stretch)
        return stretch


def day_of(moment: datetime) -> date:
    return moment.astimezone(UTC).date()
