"""The alerts of the made-up history."""

import pytest
from django.utils import timezone

from dashboard.alerts.core.replay import replay
from dashboard.alerts.services import conclusions
from dashboard.demo.services.generated import remove_history
from dashboard.models import Alert, AlertGroup, Confirmation
from tests.builders import pages

pytestmark = pytest.mark.django_db


def test_alerts_are_found_at_changes_of_build_and_removed_with_their_history() -> None:
    pages.history()
    pages.alerts()
    for alert in Alert.objects.select_related("job__run"):
        assert alert.base_id != alert.new_id
        assert alert.job
        assert alert.job.run.build_id == alert.new_id
    states = set(AlertGroup.objects.values_list("evidence_state", flat=True))
    assert states >= {"confirmed", "suspected", "confirming"}
    assert Confirmation.objects.filter(runs__isnull=False).exists()
    assert conclusions.advance_all(now=timezone.now()) == 0
    assert Confirmation.objects.filter(state="running").exists()
    remove_history()
    assert not AlertGroup.objects.exists()


def test_generated_alert_is_decided_again_as_it_was() -> None:
    pages.history()
    pages.alerts()
    decisions = Alert.objects.values_list("decision", flat=True)
    assert not any(replay(decision).differs for decision in decisions)
