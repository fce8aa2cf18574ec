"""Dates and times have one format, and a zone, wherever people read them."""

import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.apps import apps
from django.db.models import DateField
from django.test import Client

from dashboard.language import moments
from tests.builders import site

DASHBOARD = Path(__file__).parents[3] / "dashboard"
AT = datetime(2026, 11, 2, 16, 53, tzinfo=UTC)
DATE_FILTERS = r"\|(?:date(?!:\"U\")|time|timesince|timeuntil|naturalday|naturaltime|localtime)\b"
TIME_FORMATS = r"%-?[de][ -]%?b|%b %-?[de]|%Y-%m-%d %H|toLocale|DateTimeFormat\((?!\)\.res)"
WRITTEN_BY = ("stamp", "day", "month", "moment", 'date:"U"')


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("UTC", "2 Nov 2026, 16:53 UTC"),
        ("America/Sao_Paulo", "2 Nov 2026, 13:53 UTC−3"),
        ("Asia/Tokyo", "3 Nov 2026, 01:53 UTC+9"),
        ("Asia/Kolkata", "2 Nov 2026, 22:23 UTC+5:30"),
    ],
)
def test_time_is_written_with_its_zone(zone: str, text: str) -> None:
    assert moments.stamp(AT.astimezone(ZoneInfo(zone))) == text


def test_day_and_month_have_the_same_order() -> None:
    assert moments.day(date(2026, 11, 2)) == "2 Nov 2026"
    assert moments.month(date(2026, 11, 2)) == "Nov 2026"


def offenders(pattern: str, *suffixes: str) -> list[str]:
    """Lines of the site's own files that have the pattern."""
    lines = []
    for path in DASHBOARD.rglob("*"):
        is_theirs = "migrations" in path.parts or "plotly" in path.parts
        if (
            path.suffix in suffixes
            and not is_theirs
            and path.name not in ("moments.py", "formats.py")
        ):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if re.search(pattern, line):
                    lines.append(f"{path.relative_to(DASHBOARD)}:{number}: {line.strip()}")
    return lines


def test_no_template_writes_a_time_by_itself() -> None:
    fields = {
        field.name
        for model in apps.get_app_config("dashboard").get_models()
        for field in model._meta.get_fields()
        if isinstance(field, DateField)
    }
    written = "|".join(map(re.escape, WRITTEN_BY))
    raw = rf"{{{{ [\w.]+\.(?:{'|'.join(sorted(fields))})(?!\w)(?!\|(?:{written}))"
    assert offenders(rf"{DATE_FILTERS}|{raw}", ".html", ".txt") == []


def test_no_code_has_a_format_of_its_own() -> None:
    in_ticks = [line for line in offenders(TIME_FORMATS, ".py", ".js") if "tick" not in line]
    assert [line for line in in_ticks if "dtickrange" not in line] == []


def test_admin_writes_the_same_in_utc(admin_client: Client, settings: Any) -> None:
    settings.TIME_ZONE = "Asia/Tokyo"
    seen = site.living_worker().last_seen
    assert seen
    page = admin_client.get("/admin/dashboard/worker/")
    assert moments.stamp(seen.astimezone(UTC)) in page.text
