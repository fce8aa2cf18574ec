"""Alert groups, alerts, and series with a history, so that a test says only what matters to it."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import numpy as np
from django.db import transaction

from dashboard.alerts.services import detection
from dashboard.catalog.services.suite_catalog import sync_catalog
from dashboard.models import (
    Alert,
    AlertGroup,
    Benchmark,
    Config,
    Job,
    JobState,
    Run,
    RunState,
    Series,
    WorkflowState,
)
from dashboard.results.core.result_format import parse_result
from dashboard.results.services import store
from dashboard.runs.services.partitions import ensure_partitions
from dashboard.runs.services.run_state import refresh_runs
from tests.builders import site

Row = TypeVar("Row", Run, Job)
FIRST = datetime(2026, 11, 1, 3, tzinfo=UTC)  # of a measured history: one run an hour from here on


def group(state: str = "suspected", **fields: Any) -> AlertGroup:
    """A suspected regression of the machine cpu-2c on the track local, without alerts.

    state: of the workflow or of the evidence.
    """
    defaults = {"title": "a change", "machine": site.machine(), "track": site.track()}
    name = "workflow_state" if state in WorkflowState.values else "evidence_state"
    return AlertGroup.objects.create(**(defaults | {name: state} | fields))


def series(
    metric: str = "latency_ms", config: str = "inductor", benchmark: str = site.MLP
) -> Series:
    """A series of the machine cpu-2c on the track local."""
    sync_catalog(catalog=site.catalog())
    return Series.objects.get_or_create(
        benchmark=Benchmark.objects.get(name=benchmark),
        config=Config.objects.get(name=config),
        machine=site.machine(),
        track=site.track(),
        metric=metric,
    )[0]


def alert(
    of: AlertGroup, metric: str = "latency_ms", config: str = "inductor", **fields: Any
) -> Alert:
    """One alert: 6.2% slower, unless the fields say otherwise."""
    defaults = {
        "kind": "step",
        "direction": "regression",
        "effect": 6.2,
        "low": 5.1,
        "high": 7.4,
        "unit": "percent",
        "planned_at": FIRST,
        "seen_at": FIRST,
        "false_alarm_share": 0.0001,
        "base": of.base,
        "new": of.new,
    }
    return Alert.objects.create(
        group=of,
        series=series(metric, config),
        **(defaults | fields),
    )


def measure(values: Mapping[str, float] | None, hour: float, **fields: Any) -> Job:
    """One job (of the MLP) with its stored result at `FIRST` + `hour`, in a run of its own.

    values: by metric; None: it timed out. fields: as of `_measure`.
    """
    return _measure([values], hour, **fields)[0]


def measured(
    values: Sequence[float], metric: str = "latency_ms", first: int = 0, **fields: Any
) -> Series:
    """A series of these values, one an hour from `first` on; they are stored together."""
    _measure([{metric: value} for value in values], first, **fields)
    return Series.objects.get(metric=metric, config__name=fields.get("config", "inductor"))


def _measure(
    values: Sequence[Mapping[str, float] | None],
    first: float,
    *,
    benchmark: str = site.MLP,
    config: str = "inductor",
    build: str = site.BUILD,
    purpose: str = "scheduled",
    where: Mapping[str, Any] | None = None,
    **result: Any,
) -> list[Job]:
    """where: further fields of the run; result: of the result document."""
    label = site.build(build).label
    fields = {
        "configs": [config],
        "build": label,
        "purpose": purpose,
        **(where or {}),
    }
    moments = [FIRST + timedelta(hours=first + hour) for hour in range(len(values))]
    results = []
    jobs = _ended(site.run(benchmark, **fields), moments)
    for job, values_of_job in zip(jobs, values, strict=True):
        document = None
        job.status = "timeout"
        if values_of_job is not None:
            job.status = result.get("status", "pass")
            document = parse_result(site.result(job, values_of_job, **result))
        results.append(store.JobResult(job, f"{job.pk}", job.status, None, document))
    Job.objects.bulk_update(jobs, ["planned_at", "state", "status"])
    ensure_partitions(moments=moments)
    with transaction.atomic():
        store.store_results(results)
    return jobs


def _ended(run: Run, moments: Sequence[datetime]) -> list[Job]:
    """The run's only job, not saved, once both have ended, and a copy of both at each later moment.

    A copy takes a tenth of the time that triggering the same run again would.
    """
    runs = [run, *(_copy(run) for _ in moments[1:])]
    Run.objects.bulk_create(runs[1:])
    jobs = [site.reload(run.jobs.get())]
    for copied_run in runs[1:]:
        job = _copy(jobs[0], uuid=uuid.uuid4(), run_id=copied_run.pk)
        job.run = copied_run
        job.spec = job.spec | {"job_id": str(job.uuid)}
        jobs.append(job)
    Job.objects.bulk_create(jobs[1:])
    for job, at in zip(jobs, moments, strict=True):
        job.run.created_at = job.run.finished_at = at
        job.run.state = RunState.COMPLETED
        job.planned_at, job.state = at, JobState.DONE
    Run.objects.bulk_update([job.run for job in jobs], ["created_at", "finished_at", "state"])
    return jobs


def _copy(row: Row, **fields: Any) -> Row:
    """A row of the same values that is not in the database yet."""
    values = {each.attname: getattr(row, each.attname) for each in row._meta.concrete_fields}
    del values[row._meta.pk.attname]
    return type(row)(**(values | fields))


def noise(
    count: int,
    level: float = 100.0,
    percent: float = 1.0,
    seed: int = 0,
) -> list[float]:
    """Gaussian values around a level."""
    generator = np.random.default_rng(seed)
    values: list[float] = generator.normal(level, level * percent / 100, count).tolist()
    return values


def end_job(job: Job, values: Mapping[str, float] | None, **result: Any) -> None:
    """End a planned job with these values; None: it failed to run."""
    job = site.reload(job)
    job.state, job.status = JobState.FAILED, "fail_to_run"
    if values is not None:
        job.state, job.status = JobState.DONE, result.get("status", "pass")
    job.save()
    document = None if values is None else parse_result(site.result(job, values, **result))
    with transaction.atomic():
        store.store_results([store.JobResult(job, f"{job.pk}", job.status, None, document)])
        refresh_runs(run_ids=[job.run_id])


def stepped() -> Alert:
    """The alert of a series that became 10% slower."""
    measured([*noise(30), *noise(8, 110, seed=1)])
    detection.detect_due()
    return Alert.objects.get()
