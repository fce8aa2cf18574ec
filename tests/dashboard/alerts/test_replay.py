"""A decision is decided again from what was stored with it."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from dashboard.detection import VERSION
from tests.builders.alerting import stepped

pytestmark = pytest.mark.django_db


def printed(*arguments: str) -> str:
    out = StringIO()
    call_command("replay_alert", *arguments, stdout=out)
    return out.getvalue()


def test_the_same_detector_decides_the_same() -> None:
    text = printed(str(stepped().pk))
    assert "today's detector decides the same" in text
    assert f"decided by detector version {VERSION}: step at point 30: +10." in text
    assert "← first of the new level" in text


def test_a_whole_group_is_replayed() -> None:
    assert "decides the same" in printed("--group", str(stepped().group_id))


def test_replay_says_where_todays_detector_differs() -> None:
    alert = stepped()
    alert.decision["points"] = [
        [100.0 + place % 3, None, None] for place in range(len(alert.decision["at"]))
    ]
    alert.save()
    text = printed(str(alert.pk))
    assert "decides:       nothing with these points" in text
    assert "today's detector would differ" in text


def test_an_unknown_alert_is_named() -> None:
    with pytest.raises(CommandError, match=r"There is no alert 99\..* add --group"):
        printed("99")
    with pytest.raises(CommandError, match="There is no group 99: /alerts/ lists them"):
        printed("--group", "99")
