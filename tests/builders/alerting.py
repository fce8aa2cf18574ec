"""Alert groups, alerts, and series with a history, so that a test says only what matters to it."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

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
)
from dashboard.results.core.result_format import parse_result
from dashboard.results.services import store
from dashboard.runs.services.partitions import ensure_partitions
from dashboard.runs.services.run_state import refresh_runs
from tests.builders import site

FIRST = datetime(2026, 11, 1, 3, tzinfo=UTC)  # of a measured history: one run an hour from here on


def group(**fields: Any) -> AlertGroup:
    """A suspected regression of the machine cpu-2c on the track local, without alerts."""
    made = {"title": "a change", "machine": site.machine(), "track": site.track(), **fields}
    return AlertGroup.objects.create(**made)


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
    """One alert: 6.2 % slower, unless told otherwise."""
    made = {
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
        **fields,
    }
    return Alert.objects.create(group=of, series=series(metric, config), **made)


def measure(values: Mapping[str, float] | None, hour: float, **asked: Any) -> Job:
    """One landed job (of the MLP) at `FIRST` + `hour`, in a run of its own. values: by metric;
    None: it timed out.
    """
    return _measure([values], hour, **asked)[0]


def measured(
    values: Sequence[float], metric: str = "latency_ms", first: int = 0, **asked: Any
) -> Series:
    """A series of these values, one an hour from `first` on; they land together."""
    _measure([{metric: value} for value in values], first, **asked)
    return Series.objects.get(metric=metric, config__name=asked.get("config", "inductor"))


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
    asked = {
        "configs": [config],
        "build": site.build(build).label,
        "purpose": purpose,
        **(where or {}),
    }
    landings = []
    for hour, measured_here in enumerate(values):
        job = _ended(site.run(benchmark, **asked), FIRST + timedelta(hours=first + hour))
        job.status = "timeout" if measured_here is None else result.get("status", "pass")
        document = (
            None
            if measured_here is None
            else parse_result(site.result(job, measured_here, **result))
        )
        landings.append(store.JobResult(job, f"{job.pk}", job.status, None, document))
    jobs = [landed.job for landed in landings]
    Job.objects.bulk_update(jobs, ["planned_at", "state", "status"])
    ensure_partitions(moments=[job.planned_at for job in jobs])
    with transaction.atomic():
        store.store_results(landings)
    return jobs


def _ended(run: Run, at: datetime) -> Job:
    """The run's only job, not saved, once both have ended."""
    Run.objects.filter(pk=run.pk).update(created_at=at, finished_at=at, state=RunState.COMPLETED)
    job = site.reload(run.jobs.get())
    job.planned_at, job.state = at, JobState.DONE
    return job


def noise(count: int, level: float = 100.0, percent: float = 1.0, seed: int = 0) -> list[float]:
    """Gaussian values around a level."""
    return [
        float(one)
        for one in np.random.default_rng(seed).normal(level, level * percent / 100, count)
    ]


def land(job: Job, values: Mapping[str, float] | None, **result: Any) -> None:
    """End a planned job with these values; None: it failed to run."""
    job = site.reload(job)
    job.state = JobState.FAILED if values is None else JobState.DONE
    job.status = "fail_to_run" if values is None else result.get("status", "pass")
    job.save()
    document = None if values is None else parse_result(site.result(job, values, **result))
    with transaction.atomic():
        store.store_results([store.JobResult(job, f"{job.pk}", job.status, None, document)])
        refresh_runs(run_ids=[job.run_id])


def stepped() -> Alert:
    """The alert of a series that became 10 % slower."""
    measured([*noise(30), *noise(8, 110, seed=1)])
    detection.detect_due()
    return Alert.objects.get()
