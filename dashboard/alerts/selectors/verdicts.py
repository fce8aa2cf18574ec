"""How right the detector was: what became of its alerts, by week and version. Reads only."""

from dataclasses import dataclass, field
from datetime import date

from django.db.models.functions import TruncWeek

from dashboard.alerts.core.rates import Share
from dashboard.models import AlertEvent, AlertGroup, AlertState, Kind

COUNTED = (
    AlertState.CONFIRMED,
    AlertState.NOT_REPRODUCED,
    AlertState.INCONCLUSIVE,
    AlertState.INVALID,
    AlertState.RECOVERED,
)


@dataclass(slots=True)
class Week:
    """Groups that were opened in the week that begins on `monday`, by what became of them.

    raised: all of them.
    reached: state -> how many were ever in it, also if people have moved them on since.
    """

    monday: date
    version: str
    raised: int = 0
    reached: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))

    @property
    def confirmed(self) -> Share:
        """Of those that were decided by measuring again."""
        confirmed = self.reached[AlertState.CONFIRMED]
        return Share(confirmed, confirmed + self.reached[AlertState.NOT_REPRODUCED])


def weekly(weeks: int = 26) -> list[Week]:
    """The newest weeks with alerts, newest first, by detector version. Two queries.

    Missing data are not found by a detector, and do not count.
    """
    measured_here = AlertGroup.objects.filter(from_imports=False).exclude(kind=Kind.SILENCE)
    groups = measured_here.annotate(week=TruncWeek("created_at"))
    rows = groups.order_by("-week").values_list("pk", "week", "alerts__detector_version").distinct()
    by_key: dict[tuple[date, str], Week] = {}
    mondays: set[date] = set()
    week_of: dict[int, Week] = {}  # by group
    for group, week, version in rows:
        key = week.date(), version or ""
        mondays.add(key[0])
        if len(mondays) > weeks:
            break
        if group not in week_of:
            week_of[group] = by_key.setdefault(key, Week(*key))
            week_of[group].raised += 1
    # Every state that a group has been in since it was opened, once
    events = AlertEvent.objects.filter(
        group__in=list(week_of), action__in=("opened", "state"), state__in=COUNTED
    )
    for group, state in events.order_by().values_list("group", "state").distinct():
        week_of[group].reached[state] += 1
    return list(by_key.values())
