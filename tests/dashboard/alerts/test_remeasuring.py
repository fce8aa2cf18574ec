"""Somebody has an alert measured again: every pair counts, and what is confirmed stays so
meanwhile.
"""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from dashboard.alerts.services import confirmations, triage
from dashboard.alerts.services.remeasuring import measure_again
from dashboard.language.errors import ActionNotAllowed
from dashboard.models import Alert, AlertGroup, AlertState, Confirmation, Worker
from tests.builders.confirmations import answer, by_build, living_worker, scattered, suspected

pytestmark = pytest.mark.django_db
NOW = timezone.now()


@pytest.fixture(autouse=True)
def worker() -> Worker:
    return living_worker()


def ask(group: AlertGroup) -> Confirmation:
    ada, _ = User.objects.get_or_create(username="ada")
    return measure_again(
        group=group,
        by=ada,
        why="the machine was busy",
        now=timezone.now(),
    )


def test_inconclusive_group_is_measured_further_and_every_pair_counts() -> None:
    group = suspected()
    confirmations.start_due(now=NOW)
    answer(scattered)
    assert ask(group).group.state == "confirming"
    answer(by_build(10.0))
    decided = Alert.objects.get().decision["confirmation"]
    group.refresh_from_db()
    assert decided["pairs"] > 12
    assert group.state == decided["verdict"]


def test_confirmed_group_stays_confirmed_with_one_event() -> None:
    group = suspected()
    confirmations.start_due(now=NOW)
    answer(by_build(10.0))
    ask(group)
    answer(by_build(10.0))
    group.refresh_from_db()
    assert group.state == "confirmed"
    assert group.events.filter(action="state", state="confirmed").count() == 1


def test_history_says_who_had_it_measured_again_and_why() -> None:
    group = suspected()
    confirmations.start_due(now=NOW)
    answer(by_build(0.0))
    ask(group)
    event = group.events.get(action="measured again")
    assert str(event.by) == "ada"
    assert event.text == "the machine was busy"


def test_suspected_group_and_machine_without_worker_are_not_measured_again() -> None:
    group = suspected()
    with pytest.raises(
        ActionNotAllowed,
        match="suspected: only what is confirmed, inconclusive or not rep",
    ):
        ask(group)
    triage.move(group=group, to=AlertState.INCONCLUSIVE)
    Worker.objects.update(last_seen=None)
    with pytest.raises(ActionNotAllowed, match="No worker of this machine takes jobs now"):
        ask(group)
    assert AlertGroup.objects.get().state == "inconclusive"
