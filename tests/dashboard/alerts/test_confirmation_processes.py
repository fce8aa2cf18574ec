"""Further decisions by a confirmation's processes: the cause, and other alerts of their case."""

from typing import Any

import pytest
from django.utils import timezone

from dashboard.alerts.services import conclusions, confirmations, detection
from dashboard.comparisons.core.tables import compare
from dashboard.comparisons.selectors.versions import SideSource, sides
from dashboard.judgement.confirmation import FEWEST
from dashboard.language.metrics import METRICS
from dashboard.models import Alert, AlertGroup, Series, Worker
from tests.builders import alerting, site
from tests.builders.alerting import end_job, measure
from tests.builders.confirmations import (
    NEW,
    answer,
    by_build,
    living_worker,
    planned,
    suspected,
)

pytestmark = pytest.mark.django_db
NOW = timezone.now()


@pytest.fixture(autouse=True)
def worker() -> Worker:
    return living_worker()


def test_processes_of_the_confirmation_prove_that_the_code_differs() -> None:
    def brought(new: bool) -> dict[str, float]:
        return {"peak_memory_gb": 1.8 if new else 1.5, "eager_peak_memory_gb": 1.0}

    def compiled(new: bool) -> dict[str, Any]:
        return {"fingerprints": {"kernels": "bbbb" if new else "aaaa"}}

    for hour in range(10):
        measure(brought(new=False), hour, compile=compiled(new=False))
    measure(brought(new=True), 10, build=NEW, compile=compiled(new=True))
    detection.detect_due()
    assert AlertGroup.objects.get().cause == "unknown"
    confirmations.start_due(now=NOW)
    for job in planned():
        new = job.run.build.label == NEW
        end_job(job, brought(new), compile=compiled(new))
    conclusions.advance_all(now=NOW)
    group = AlertGroup.objects.get()
    assert group.state == "confirmed"
    assert group.cause == "compiler"
    assert group.events.filter(action="cause", text="Compiler").exists()


def test_confirmed_change_is_measured_in_turn_for_a_comparison_too() -> None:
    """Without the warm-up of each side, which both have."""
    group = suspected(10.0)
    confirmations.start_due(now=NOW)
    answer(lambda job, place: by_build(10.0)(job, place) * (3 if job.position < 2 else 1))
    group.refresh_from_db()
    assert group.state == "confirmed"
    assert group.base
    assert group.new
    source = SideSource(machine=site.machine().pk)
    base, new = sides([(source, group.base.pk), (source, group.new.pk)], ["latency_ms"])
    [row] = compare(base, new, METRICS["latency_ms"]).rows
    assert row.change.amount == pytest.approx(10.0, abs=1.0)
    assert len(row.measured.pairs) == FEWEST


def test_confirmation_decides_the_other_alerts_of_its_case() -> None:
    group = suspected(50.0)
    first = Alert.objects.get()
    other = alerting.alert(
        group,
        "cold_start_s",
        base=first.base,
        new=first.new,
        planned_at=first.planned_at,
        false_alarm_share=0.01,
        job=first.job,
        effect=30.0,
    )
    confirmations.start_due(now=NOW)
    while jobs := planned():
        for job in jobs:
            slower = 150.0 if job.run.build.label == NEW else 100.0
            end_job(
                job,
                {
                    "latency_ms": slower + job.position / 10,
                    "cold_start_s": 5.0 + job.position % 4 / 100,
                },
            )
        conclusions.advance_all(now=timezone.now())
    other.refresh_from_db()
    group.refresh_from_db()
    assert group.state == "confirmed"
    assert other.confirmation == "not_reproduced"


def test_confirmation_whose_series_were_deleted_ends_and_frees_the_machine() -> None:
    group = suspected(50.0)
    confirmations.start_due(now=NOW)
    for job in planned():
        end_job(job, {"latency_ms": 100.0})
    Series.objects.all().delete()
    conclusions.advance_all(now=timezone.now())
    group.refresh_from_db()
    assert group.state == "inconclusive"
    assert group.confirmation.message == "Its series were deleted meanwhile."
