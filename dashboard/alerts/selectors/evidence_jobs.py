"""The jobs that show a change: those that its confirmation ran, the diagnostic reruns for its
report, and the nearest scheduled ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import BooleanField, ExpressionWrapper, F, Q

from dashboard.models import Alert, Artifact, Job, Result, TorchBuild
from dashboard.results.selectors import history

_MOST = 8  # scheduled jobs of a side that are looked at
_MOST_AGAIN = 12  # of those that its group had run again


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
    """Base and new, with their jobs. Four queries."""
    order = {"base": list[UUID](), "new": list[UUID]()}
    again = Job.objects.filter(
        Q(run__confirmation__group=alert.group_id) | Q(run__evidence_of__group=alert.group_id),
        benchmark=alert.series.benchmark_id,
        config=alert.series.config_id,
        result__isnull=False,
    )
    newest = again.order_by(F("run__confirmation").desc(nulls_last=True), "-position")
    for job, side in newest.values_list("pk", "run__request__side"):
        if len(order[side]) < _MOST_AGAIN:
            order[side].append(job)
    scheduled = history.judged([alert.series_id]).values_list("job_id", "planned_at")
    before = scheduled.filter(planned_at__lt=alert.planned_at).order_by("-planned_at")
    after = scheduled.filter(planned_at__gte=alert.planned_at).order_by("planned_at")
    nearest = sorted(
        before[:_MOST].union(after[:_MOST]), key=lambda row: abs(row[1] - alert.planned_at)
    )
    for job, planned_at in nearest:
        order["base" if planned_at < alert.planned_at else "new"].append(job)

    jobs = {job.pk: job for job in jobs_in_order([*order["base"], *order["new"]])}
    base, new = ([jobs[job] for job in order[side] if job in jobs] for side in ("base", "new"))
    return Side("base", alert.base, base), Side("new", alert.new, new)


def jobs_in_order(order: Sequence[UUID]) -> list[Job]:
    """Those of these jobs that have a result, with their artifacts. Two queries.

    Each has `is_profiled`: whether its kernels were recorded.
    """
    related = ("run__build", "run__machine", "benchmark", "config", "result__environment")
    jobs = Job.objects.filter(pk__in=order, result__isnull=False).select_related(*related)
    is_profiled = ExpressionWrapper(Q(result__document__has_key="profile"), BooleanField())
    # A document is large, and that of one or two jobs is read
    light = jobs.defer("result__document", "spec", "log_tail").annotate(is_profiled=is_profiled)
    return sorted(light.prefetch_related("artifacts"), key=lambda job: order.index(job.pk))
