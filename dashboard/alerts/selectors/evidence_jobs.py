"""The jobs that show a change: those that its confirmation ran, the diagnostic reruns for its
report, and the nearest scheduled ones.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from dashboard.models import Alert, Artifact, Job, Result, TorchBuild
from dashboard.results.selectors import history

_MOST = 8  # jobs of each kind and side that are looked at


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a change. jobs: with a result; the confirmation's come first, newest first, then
    the diagnostic ones.
    """

    name: str
    build: TorchBuild | None
    jobs: list[Job]

    @property
    def label(self) -> str:
        return str(self.build) if self.build else "not known"

    def result(self) -> Result | None:
        """Return the result of its first job."""
        return self.jobs[0].result if self.jobs else None

    def artifacts(self) -> list[Artifact]:
        """List the artifacts: of each name, that of the first job which left one."""
        by_name: dict[str, Artifact] = {}
        for job in self.jobs:
            for artifact in job.artifacts.all():
                by_name.setdefault(artifact.name, artifact)
        return [by_name[name] for name in sorted(by_name)]

    def artifact(self, name: str) -> Artifact | None:
        return next((artifact for artifact in self.artifacts() if artifact.name == name), None)


def sides(alert: Alert) -> tuple[Side, Side]:
    """Base and new, with their jobs. Eight queries."""
    scheduled = history.judged([alert.series_id])
    before = scheduled.filter(planned_at__lt=alert.planned_at).order_by("-planned_at")
    after = scheduled.filter(planned_at__gte=alert.planned_at)
    return (
        Side("base", alert.base, _jobs(alert, "base", _first_jobs(before))),
        Side("new", alert.new, _jobs(alert, "new", _first_jobs(after))),
    )


def _first_jobs(data: QuerySet[Any]) -> list[UUID]:
    return list(data.values_list("job_id", flat=True)[:_MOST])


def _jobs(alert: Alert, side: str, scheduled: Iterable[UUID]) -> list[Job]:
    of_case = Job.objects.filter(
        run__request__side=side,
        benchmark=alert.series.benchmark_id,
        config=alert.series.config_id,
        result__isnull=False,
    ).values_list("pk", flat=True)
    confirming = of_case.filter(run__confirmation__group=alert.group_id).order_by("-position")
    diagnostic = of_case.filter(run__evidence_of__group=alert.group_id).order_by("-planned_at")
    order = [*confirming[:_MOST], *diagnostic[:_MOST], *scheduled]
    related = ("run__build", "run__machine", "result__environment")
    jobs = Job.objects.filter(pk__in=order, result__isnull=False).select_related(*related)
    # A document is large, and that of one or two jobs is read
    light = jobs.defer("result__document", "spec", "log_tail").prefetch_related("artifacts")
    return sorted(light, key=lambda job: order.index(job.pk))
