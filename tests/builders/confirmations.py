"""Suspicions, and the measurements with which confirmations are answered."""

from collections.abc import Callable

from django.utils import timezone

from dashboard.alerts.services import conclusions, confirmations, detection
from dashboard.models import AlertGroup, Job, Purpose, Worker
from tests.builders import site
from tests.builders.alerting import end_job, measured, noise

NEW = "2.14.0"


def living_worker() -> Worker:
    """Confirmations are planned only where somebody can measure them."""
    worker = site.worker()
    worker.last_seen = timezone.now()
    worker.save()
    return worker


def suspected(percent: float = 10.0, build: str = NEW) -> AlertGroup:
    """A latency that is slower since 2.14.0, seen in eight points."""
    measured(noise(30))
    measured(noise(8, 100 + percent, seed=1), first=30, build=build)
    detection.detect_due()
    return AlertGroup.objects.get()


def planned() -> list[Job]:
    """The jobs of confirmations that wait, in their order."""
    waiting = Job.objects.filter(run__purpose=Purpose.CONFIRMATION, state="planned")
    return list(waiting.order_by("planned_at").select_related("run__build"))


def answer(value: Callable[[Job, int], float | None]) -> int:
    """End every planned job with the latency that `value` gives it, until no more is planned.

    Returns how many there were.
    """
    done = 0
    while jobs := planned():
        for job in jobs:
            latency = value(job, done)
            end_job(job, None if latency is None else {"latency_ms": latency})
            done += 1
        conclusions.advance_all(now=timezone.now())
    return done


def scattered(job: Job, place: int) -> float:
    """Latencies of the new build that scatter so much that twelve pairs do not decide."""
    if job.run.build.label != NEW:
        return 100.0
    return 80.0 if place // 2 % 2 else 140.0


def by_build(slower_percent: float) -> Callable[[Job, int], float]:
    """Latencies with a little noise, of which those of the new build are so much slower."""
    values = noise(200, percent=0.5, seed=3)
    factors = {NEW: 1 + slower_percent / 100}
    return lambda job, place: values[place] * factors.get(job.run.build.label, 1.0)


def confirmed_regression() -> AlertGroup:
    """A latency that is 10% slower since 2.14.0, as its confirmation found; no cause is known."""
    living_worker()
    group = suspected()
    confirmations.start_due(now=group.created_at)
    answer(by_build(10))
    group.refresh_from_db()
    return group
