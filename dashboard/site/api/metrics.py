"""/metrics: what Prometheus reads. Every figure is read from the database at that moment.

So each process of the web server gives the same answer, and nothing has to be collected from them,
as prometheus_client's counters would need. Signed-in staff may read it, and whoever sends
METRICS_TOKEN as a bearer token. An address is not a proof: behind a proxy everybody comes from
127.0.0.1.
"""

import secrets
from collections.abc import Iterator
from datetime import datetime

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily as Gauge
from prometheus_client.registry import Collector

from dashboard.models import Delivery
from dashboard.site.selectors import watching

PREFIX = "compilewatch_"


@login_not_required
def metrics(request: HttpRequest) -> HttpResponse:
    """The figures as Prometheus's text; 401 for anybody else."""
    if not _may_read(request):
        return HttpResponse(
            "Send METRICS_TOKEN as `Authorization: Bearer <token>`, or sign in as staff.\n",
            status=401,
            content_type="text/plain",
            headers={"WWW-Authenticate": "Bearer"},
        )
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Figures(timezone.now()))
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def _may_read(request: HttpRequest) -> bool:
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    if settings.METRICS_TOKEN and kind == "Bearer":
        return secrets.compare_digest(token.strip().encode(), settings.METRICS_TOKEN.encode())
    return bool(request.user.is_active and getattr(request.user, "is_staff", False))


class Figures(Collector):
    """The state of the system at `now`, as docs/operations.md describes it."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def describe(self) -> list[Gauge]:
        """Nothing ahead of time: a registry would otherwise collect twice."""
        return []

    def collect(self) -> Iterator[Gauge]:
        yield from self._jobs()
        yield from self._workers()
        yield from self._delays()
        yield from self._messages()

    def _jobs(self) -> Iterator[Gauge]:
        count = _gauge("open_jobs", "Jobs that have not ended", "machine", "state")
        oldest = _gauge(
            "oldest_open_job_seconds", "Since the oldest of them was planned", "machine", "state"
        )
        for jobs in watching.open_jobs():
            count.add_metric([jobs.machine, jobs.state], jobs.count)
            oldest.add_metric([jobs.machine, jobs.state], self._age(jobs.oldest))
        yield from (count, oldest)
        day = _gauge("jobs_planned_last_day", "Jobs planned within 24 hours", "machine", "state")
        for machine, state, number in watching.jobs_of_the_last_day(self._now):
            day.add_metric([machine, state], number)
        yield day

    def _workers(self) -> Iterator[Gauge]:
        age = _gauge(
            "worker_heartbeat_age_seconds", "Since the worker was heard of", "worker", "machine"
        )
        paused = _gauge("worker_paused", "1: a person has paused the worker", "worker", "machine")
        full = _gauge(
            "worker_disk_full", "1: the worker's disk has no room for a job", "worker", "machine"
        )
        for report in watching.worker_reports(self._now):
            labels = [report.worker, report.machine]
            age.add_metric(labels, float("inf") if report.age_s is None else report.age_s)
            paused.add_metric(labels, float(report.paused))
            full.add_metric(labels, float(report.has_full_disk))
        yield from (age, paused, full)

    def _delays(self) -> Iterator[Gauge]:
        lag = watching.ingest_lag_s(self._now)
        ingest = _gauge(
            "ingest_lag_seconds",
            "Longest way of a result of the last 15 minutes; absent: none came",
        )
        if lag is not None:
            ingest.add_metric([], lag)
        yield ingest
        due, oldest = watching.detection_due()
        yield _single("detection_due_series", "Series with data that are not judged yet", due)
        yield _single(
            "detection_lag_seconds", "Since the oldest of these data came", self._age(oldest)
        )

    def _messages(self) -> Iterator[Gauge]:
        counts = dict(watching.deliveries(self._now))
        messages = _gauge(
            "deliveries", "Messages of the last week, and all that are not sent", "state"
        )
        for state in Delivery.State.values:
            messages.add_metric([state], counts.get(state, 0))
        yield messages
        refused = watching.refused_results(self._now)
        yield _single("refused_results_last_day", "Results that could not be taken in", refused)

    def _age(self, at: datetime | None) -> float:
        if at is None:
            return 0.0
        return max((self._now - at).total_seconds(), 0.0)


def _gauge(name: str, about: str, *labels: str) -> Gauge:
    return Gauge(PREFIX + name, about + ".", labels=labels)


def _single(name: str, about: str, value: float) -> Gauge:
    return Gauge(PREFIX + name, about + ".", value=value)
