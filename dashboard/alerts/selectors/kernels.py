"""The kernels on either side of a change: the last profile before it, and the first one since."""

from dataclasses import replace

from dashboard.alerts.selectors.alert_data import AroundChange
from dashboard.models import Alert, Job, Result
from dashboard.results.core.kernel_profile import EXPLAINED_METRICS
from dashboard.results.selectors.kernels import KernelComparison, of_jobs

_NEAR = 8  # jobs on either side of the change that are looked at for a profile


def around(alert: Alert, seen: AroundChange) -> KernelComparison | None:
    """None where a side has no profile, or the metric is not about a step. Five queries at most.

    Of an alert about eager, the table of eager comes first.
    """
    if alert.series.metric not in EXPLAINED_METRICS:
        return None
    before, after = seen.jobs_near(_NEAR)
    profiled = Result.objects.filter(job__in=[*before, *after], document__has_key="profile")
    jobs = {str(job) for job in profiled.values_list("pk", flat=True)}
    base = next((job for job in before if job in jobs), None)
    new = next((job for job in after if job in jobs), None)
    if base is None or new is None:
        return None

    both = Job.objects.select_related("run__build").in_bulk([base, new])
    by_text = {str(pk): job for pk, job in both.items()}
    comparison = of_jobs(by_text[base], by_text[new])
    if comparison is None or not alert.series.metric.startswith("eager"):
        return comparison
    eager_first = sorted(comparison.tables, key=lambda table: table.diff.arm != "eager")
    return replace(comparison, tables=eager_first)
