"""The title of a group: which of its alerts it names."""

from typing import Any

import pytest

from dashboard.alerts.services.descriptions import describe
from tests.builders import alerting, site

pytestmark = pytest.mark.django_db
FASTER: dict[str, Any] = {"direction": "improvement", "effect": -8.6, "low": -9.6, "high": -7.6}


@pytest.mark.parametrize(
    ("confirmation", "expected"),
    [
        ("confirmed", "mlp inference: 6.2% slower in inductor since 2.13.0"),
        ("", "mlp inference: 6.2% slower, but cold start 8.6% shorter in inductor since 2.13.0"),
    ],
)
def test_title_names_what_is_confirmed_or_all_where_nothing_is(
    confirmation: str, expected: str
) -> None:
    group = alerting.group(base=site.build("2.12.0"), new=site.build("2.13.0"))
    alerting.alert(group, confirmation=confirmation)
    alerting.alert(group, "cold_start_s", **FASTER)
    describe(groups=[group])
    assert group.title == expected


def test_direction_takes_what_is_not_confirmed_into_account() -> None:
    group = alerting.group()
    alerting.alert(group, confirmation="confirmed")
    alerting.alert(group, "cold_start_s", **FASTER)
    describe(groups=[group])
    assert group.direction == "trade_off"
