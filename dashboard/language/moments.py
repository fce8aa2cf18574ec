"""Dates and times as people read them: one format in pages, charts, mails, messages and the admin.
Pure.

static/compilewatch/zone.js writes the same text in the viewer's zone; settings.py has the format of
the admin.
"""

from datetime import date, datetime

HOVERED = "%{x|%-d %b %Y, %H:%M} UTC"
"""The time of a point of a figure; charts.js puts the viewer's zone in place of UTC."""


def day(at: date) -> str:
    """ "22 Nov 2026"."""
    return f"{at.day} {at:%b %Y}"


def month(at: date) -> str:
    """ "Nov 2026"."""
    return f"{at:%b %Y}"


def stamp(at: datetime) -> str:
    """An aware time in its own zone: "22 Nov 2026, 16:53 UTC", "22 Nov 2026, 13:53 UTC−3"."""
    offset = at.utcoffset()
    assert offset is not None
    minutes = int(offset.total_seconds()) // 60
    hours, rest = divmod(abs(minutes), 60)
    zone = "UTC"
    if minutes:
        zone += f"{'+' if minutes > 0 else '−'}{hours}" + (f":{rest:02}" if rest else "")
    return f"{day(at)}, {at:%H:%M} {zone}"
