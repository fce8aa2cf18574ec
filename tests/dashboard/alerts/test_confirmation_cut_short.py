"""A confirmation that was cancelled or took too long ends with what it has; it can be repeated."""

from datetime import timedelta

import pytest
from django.utils import timezone

from dashboard.alerts.core.confirmation import WARM_UPS
from dashboard.alerts.services import conclusions, confirmations
from dashboard.alerts.services.remeasuring import measure_again
from dashboard.judgement.confirmation import FEWEST
from dashboard.models import AlertGroup
from dashboard.runs.services.runs import cancel_run
from tests.builders.alerting import end_job
from tests.builders.confirmations import answer, by_build, living_worker, planned, suspected

pytestmark = pytest.mark.django_db


@pytest.fixture
def group() -> AlertGroup:
    """One that is being confirmed."""
    living_worker()
    group = suspected()
    assert confirmations.start_due(now=timezone.now()) == 1
    return group


def measure_rounds(number: int) -> None:
    values = by_build(10.0)
    for place, job in enumerate(planned()[: 2 * (WARM_UPS + number)]):
        end_job(job, {"latency_ms": values(job, place) or 0.0})


def cancel(group: AlertGroup) -> None:
    for run in group.confirmation.runs.all():
        cancel_run(run=run)
    conclusions.advance_all(now=timezone.now())
    group.refresh_from_db()


@pytest.mark.parametrize("rounds", range(FEWEST))
def test_cancelled_confirmation_is_inconclusive(group: AlertGroup, rounds: int) -> None:
    measure_rounds(rounds)
    cancel(group)
    assert group.state == "inconclusive"
    assert "Stopped: its jobs were cancelled." in group.confirmation.message
    assert "(" not in group.confirmation.message  # an interval without ends
    assert not planned()


@pytest.mark.parametrize("rounds", range(FEWEST))
def test_confirmation_that_took_too_long_is_inconclusive(group: AlertGroup, rounds: int) -> None:
    measure_rounds(rounds)
    conclusions.advance_all(now=timezone.now() + confirmations.PATIENCE + timedelta(hours=1))
    group.refresh_from_db()
    assert group.state == "inconclusive"
    assert "more than 3 days" in group.confirmation.message


def test_confirmation_that_was_cancelled_can_be_measured_again(group: AlertGroup) -> None:
    cancel(group)
    measure_again(group=group, by=None, now=timezone.now())
    answer(by_build(10.0))
    group.refresh_from_db()
    assert group.state == "confirmed"
