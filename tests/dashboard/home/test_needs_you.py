"""What somebody should decide about: what costs most comes first."""

from typing import Any

import pytest
from django.test import Client

from dashboard.home.core.needs_you import Need, in_order
from dashboard.home.selectors.needs_you import NeedsYou
from dashboard.models import AlertGroup, StarredModel
from tests.builders import alerting, site
from tests.builders.notifications import channel
from tests.builders.people import viewer
from tests.builders.reading import text

pytestmark = pytest.mark.django_db


def need(title: str, paid: Any = "step", weight: float = 1.0, **fields: Any) -> Need:
    return Need(paid, title, "", "", fields.pop("is_certain", True), weight, **fields)


def shown(reader: Client, address: str = "/") -> NeedsYou:
    needs: NeedsYou = reader.get(address).context["needs"]
    return needs


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (need("a", weight=2), need("b", weight=1)),
        (need("a", weight=3), need("b", weight=4, is_certain=False)),
        (need("a", weight=3, model="gpt2"), need("b", weight=5)),
        (need("a", "failure"), need("b", weight=50)),
        (need("a"), need("b", "start", weight=5000)),
        (need("a", "else"), need("b", "setting", weight=5000)),
    ],
)
def test_what_costs_most_comes_first(first: Need, second: Need) -> None:
    assert in_order([second, first], {"gpt2"}) == [first, second]


def test_slower_step_without_an_alert_needs_somebody(two_releases: None, reader: Client) -> None:
    needs = shown(reader, "/?machine=h100").needs
    step, start = needs[0], needs[-1]
    assert (step.title, step.size) == ("sd_unet training", "+5 %")
    assert step.cost.endswith("ms a step")
    assert (start.paid, start.note) == ("start", "gpt2 training, gpt2.")


def test_alert_names_what_it_costs(reader: Client) -> None:
    group = alerting.group(new=site.build("2.14.1+cpu"))
    verdict = {"verdict": {"level_before": 2.0, "level_after": 2.5}}
    alerting.alert(group, effect=25.0, low=20.0, high=30.0, decision=verdict)
    alerting.measure({"latency_ms": 2.5}, 0)
    [alert] = shown(reader).needs
    assert (alert.size, alert.cost, alert.new) == ("+25 %", "+0.500 ms a step", "2.14.1")


def test_alert_of_a_setting_names_it_and_comes_last(reader: Client) -> None:
    base, variant = site.build("2.13.0+cpu"), site.build("2.13.0+cpu~unfused")
    variant.variant = {"inductor": {"epilogue_fusion": False}}
    variant.save()
    alerting.alert(alerting.group(base=base, new=variant), effect=90.0)
    alerting.alert(alerting.group(new=site.build("2.14.1+cpu")), metric="device_ms")
    alerting.measure({"latency_ms": 2.5}, 0)
    assert shown(reader).needs[-1].note == "With epilogue_fusion = False."


def test_alerts_of_other_machines_are_counted(reader: Client) -> None:
    alerting.measure({"latency_ms": 1.0}, 0)
    alerting.group(severity="high", machine=site.machine("cpu-1c"))
    assert "1 on other machines" in text(reader, "/")


def test_what_nobody_has_taken_is_counted(reader: Client) -> None:
    for fields in ({}, {"assignee": viewer("ada")}, {"workflow_state": "acknowledged"}):
        alerting.group(severity="high", **fields)
    assert shown(reader).unassigned == 1
    AlertGroup.objects.update(workflow_state="acknowledged")
    assert shown(reader).unassigned == 0


def test_star_of_a_person_moves_their_model_up(two_releases: None, admin_client: Client) -> None:
    person = viewer("ada")
    admin_client.force_login(person)
    StarredModel.objects.create(user=person, model="resnet50")
    assert admin_client.get("/?machine=h100").context["map"].rows[0].name == "resnet50"


def test_home_says_that_a_channel_is_off_to_who_may_see_it(
    admin_client: Client, reader: Client
) -> None:
    channel(enabled=False, name="ops", problem="after 6 tries: the box is full")
    channel(enabled=False, name="old")
    assert "the box is full" in text(admin_client, "/")
    assert "“old”" not in text(admin_client, "/")
    assert "the box is full" not in text(reader, "/")


def test_home_answers_whether_to_move_to_the_newest_release(
    two_releases: None, reader: Client
) -> None:
    page = text(reader, "/")
    assert '<a class="term" href="/glossary/#mixed"' in page
    assert "Model by model" in page
