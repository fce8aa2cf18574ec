"""Times of a schedule, as people say them, and as the five fields of a crontab. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import time

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
EVERY_DAY = frozenset(range(7))
# They divide the day, so that the last interval of a day is as long as the others
HOURS = (1, 2, 3, 4, 6, 8, 12)
_LEAST_RANGE = 3  # days from here on are written as "Monday to Wednesday"


@dataclass(frozen=True, slots=True)
class Timing:
    """Once a day at `at`, or every so many hours from midnight, on some days of the week.

    zone: of the clock, as Europe/Berlin.
    at: hours and minutes; None where it runs every `every_hours`.
    weekdays: 0 is Monday.
    """

    zone: str
    at: time | None = None
    every_hours: int | None = None
    weekdays: frozenset[int] = EVERY_DAY

    @property
    def crontab(self) -> dict[str, str]:
        """The five fields of a crontab, whose weeks begin on Sunday."""
        days = sorted((day + 1) % 7 for day in self.weekdays)
        return {
            "minute": str(self.at.minute) if self.at else "0",
            "hour": str(self.at.hour) if self.at else f"*/{self.every_hours}",
            "day_of_week": "*" if self.weekdays == EVERY_DAY else ",".join(map(str, days)),
            "day_of_month": "*",
            "month_of_year": "*",
        }

    def __str__(self) -> str:
        """As "Monday to Friday at 02:30, Europe/Berlin"."""
        days = "Every day" if self.weekdays == EVERY_DAY else _days_in_words(self.weekdays)
        if self.at is not None:
            return f"{days} at {self.at:%H:%M}, {self.zone}"
        hours = "Every hour" if self.every_hours == 1 else f"Every {self.every_hours} hours"
        if self.weekdays == EVERY_DAY:
            return f"{hours} from midnight, {self.zone}"
        return f"{hours} from midnight, {days}, {self.zone}"


def timing_of(crontab: Mapping[str, str], zone: str) -> Timing | None:
    """The timing that a crontab's five fields express; None for what a Timing cannot say."""
    minute, hour, days = crontab["minute"], crontab["hour"], crontab["day_of_week"]
    if crontab["day_of_month"] != "*" or crontab["month_of_year"] != "*":
        return None
    weekdays = _weekdays(days)
    if not weekdays or not minute.isdecimal():
        return None
    if hour.isdecimal():
        at = time(int(hour), int(minute))
        return Timing(zone, at=at, weekdays=weekdays)
    every = "1" if hour == "*" else hour.removeprefix("*/")
    if every.isdecimal() and int(every) in HOURS and int(minute) == 0:
        return Timing(zone, every_hours=int(every), weekdays=weekdays)
    return None


def _weekdays(days: str) -> frozenset[int]:
    if days == "*":
        return EVERY_DAY
    numbers = days.split(",")
    if not all(number.isdecimal() for number in numbers):
        return frozenset()
    return frozenset((int(number) - 1) % 7 for number in numbers)


def _days_in_words(weekdays: Collection[int]) -> str:
    days = sorted(weekdays)
    first, last = days[0], days[-1]
    if len(days) >= _LEAST_RANGE and last - first == len(days) - 1:
        return f"{WEEKDAYS[first]} to {WEEKDAYS[last]}"
    names = [WEEKDAYS[day] for day in days]
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"
