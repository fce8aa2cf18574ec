"""Jobs that have just ended, in words for a terminal."""

from collections.abc import Iterable
from datetime import datetime

from dashboard.language.wording import plural
from dashboard.models import Job, Run
from dashboard.runs.selectors.runs import progress


def ended_since(moment: datetime) -> list[Job]:
    """Jobs that ended after `moment`, in that order, with benchmark, config and run."""
    jobs = Job.objects.filter(finished_at__gt=moment).order_by("finished_at")
    return list(jobs.select_related("benchmark", "config", "run__machine"))


def lines(jobs: Iterable[Job], now: datetime) -> list[str]:
    """A line for each of `jobs`, and one for each run that they belong to: how far it is."""
    ended = list(jobs)
    runs = {job.run_id: job.run for job in ended}
    return [*map(_job_line, ended), *(_run_line(run, now) for run in runs.values())]


def _job_line(job: Job) -> str:
    line = f"{job.benchmark.name} {job.config.name}: {job.status or job.state}"
    if job.finished_at and job.claimed_at:
        line += f" after {(job.finished_at - job.claimed_at).total_seconds():.0f} s"
    if job.message:
        line += f": {job.message}"
    return line


def _run_line(run: Run, now: datetime) -> str:
    state = progress(run, now)
    counts, left = state.counts, state.seconds_left
    line = f"run {run.pk}: {counts.ended} of {plural(counts.total, 'job')} done"
    if counts.failed:
        line += f", {counts.failed} not passed"
    if left and left >= 30:
        line += f", about {left / 60:.0f} min left"
    return line
