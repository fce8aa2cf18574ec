"""Events that a rule selects, and when a digest is due."""

from dataclasses import replace
from datetime import UTC, datetime, time
from typing import Any

import pytest

from dashboard.notifications.core.rules import EventFacts, RuleSelection, last_due, selects

CONFIRMED = EventFacts(
    action="state",
    state="confirmed",
    was_confirmed=True,
    direction="regression",
    severity="medium",
    families={"llm"},
    models={"gpt2", "llama"},
    metrics={"latency_ms"},
    machine=1,
    track=2,
    effect_percent=6.2,
)


@pytest.mark.parametrize(
    ("selection", "event", "answer"),
    [
        ({}, {}, True),
        ({}, {"state": "suspected"}, False),
        ({}, {"state": "acknowledged"}, False),
        ({}, {"action": "note"}, False),
        ({}, {"action": "opened"}, True),
        ({"states": ["suspected"]}, {"state": "suspected", "action": "opened"}, True),
        ({"states": ["suspected"]}, {}, False),
        ({}, {"state": "recovered"}, True),
        ({}, {"state": "recovered", "was_confirmed": False}, False),
        (
            {"states": ["confirmed", "recovered"]},
            {"state": "recovered", "was_confirmed": False},
            False,
        ),
        (
            {"states": ["suspected", "recovered"]},
            {"state": "recovered", "was_confirmed": False},
            True,
        ),
        ({}, {"direction": "improvement"}, False),
        ({"improvements": True}, {"direction": "improvement"}, True),
        ({"minimum_severity": "medium"}, {}, True),
        ({"minimum_severity": "high"}, {}, False),
        ({"minimum_effect_percent": 6.0}, {}, True),
        ({"minimum_effect_percent": 7.0}, {}, False),
        ({"minimum_effect_percent": 7.0}, {"effect_percent": None}, True),
        ({"families": ["llm"]}, {}, True),
        ({"families": ["vision"]}, {}, False),
        ({"models": ["llama"]}, {}, True),
        ({"metrics": ["peak_memory_gb"]}, {}, False),
        ({"machines": {1}, "tracks": {2}}, {}, True),
        ({"machines": {3}}, {}, False),
        ({"tracks": {3}}, {}, False),
        ({"machines": {3}}, {"machine": None}, False),
    ],
)
def test_rule_selects_events(
    selection: dict[str, Any], event: dict[str, Any], answer: bool
) -> None:
    assert selects(RuleSelection(**selection), replace(CONFIRMED, **event)) is answer


@pytest.mark.parametrize(
    ("now", "when", "zone", "due"),
    [
        ("2026-11-21T09:00", "daily", "UTC", "2026-11-21T08:00"),
        ("2026-11-21T07:59", "daily", "UTC", "2026-11-20T08:00"),
        ("2026-11-21T08:00", "daily", "UTC", "2026-11-21T08:00"),
        ("2026-11-21T07:30", "daily", "Europe/Berlin", "2026-11-21T07:00"),
        ("2026-07-21T07:30", "daily", "Europe/Berlin", "2026-07-21T06:00"),
        ("2026-11-21T00:30", "daily", "Asia/Tokyo", "2026-11-20T23:00"),
        ("2026-11-21T09:00", "weekly", "UTC", "2026-11-16T08:00"),
        ("2026-11-16T07:00", "weekly", "UTC", "2026-11-09T08:00"),
        ("2026-11-16T08:00", "weekly", "UTC", "2026-11-16T08:00"),
    ],
)
def test_digest_is_due_at_its_time_in_its_zone(
    now: str,
    when: Any,
    zone: str,
    due: str,
) -> None:
    moment = datetime.fromisoformat(now).replace(tzinfo=UTC)
    assert last_due(moment, when, time(8), zone) == datetime.fromisoformat(due).replace(tzinfo=UTC)


def test_time_that_spring_skips_counts_as_the_moment_after() -> None:
    now = datetime(2026, 3, 29, 12, tzinfo=UTC)
    expected = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    assert last_due(now, "daily", time(2, 30), "Europe/Berlin") == expected


@pytest.mark.parametrize(
    ("now", "at", "due"),
    [
        # 03:10, where 02:30 does not exist: it is due at 03:30
        ("2026-03-08T07:10", time(2, 30), "2026-03-07T07:30"),
        ("2026-03-08T07:30", time(2, 30), "2026-03-08T07:30"),
        # 01:10 for the second time
        ("2026-11-01T06:10", time(1, 30), "2026-11-01T05:30"),
    ],
)
def test_clock_that_changes_moves_no_digest_into_the_future_or_back(
    now: str, at: time, due: str
) -> None:
    moment = datetime.fromisoformat(now).replace(tzinfo=UTC)
    expected = datetime.fromisoformat(due).replace(tzinfo=UTC)
    assert last_due(moment, "daily", at, "America/New_York") == expected
