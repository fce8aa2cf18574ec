"""Data for pages: a generated history, a fleet at work, and a job with a complete result."""

import json
import zlib
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from django.utils import timezone

from dashboard.models import (
    Datum,
    Environment,
    Job,
    JobState,
    Machine,
    Result,
    Run,
    RunState,
    Samples,
    Series,
    Status,
    Track,
    Worker,
)
from dashboard.results.services import newest
from dashboard.results.services.store import roll_up
from tests.builders import kernels
from tests.builders.made_alerts import write_alerts
from tests.builders.made_history import KEY, write_history

REAL_RESULT = Path(__file__).parents[1] / "data" / "golden" / "result.pass.json"
PLAIN_PAGES = ["/", "/benchmarks/", "/runs/", "/fleet/", "/glossary/"]
FAILURE_MESSAGE = (
    "BackendCompilerFailed: lowering of aten.foo failed. The ablation names the stage at fault."
)
# Of the run of a fleet at work, in the order of its jobs
JOB_STATES = (
    *[JobState.DONE] * 6,
    JobState.TIMED_OUT,
    JobState.RUNNING,
    *[JobState.QUEUED] * 4,
)
# Position -> status and message, of the jobs that did not pass
ENDINGS = {
    5: (Status.FAIL_TO_COMPILE, FAILURE_MESSAGE),
    6: (Status.TIMEOUT, FAILURE_MESSAGE),
}


def small_site() -> None:
    """A small history, and a job with everything."""
    history(series=60, points=12)
    job_with_everything()


def history(series: int = 480, points: int = 60) -> None:
    """By default 12 benchmarks × 4 configs × 60 nights; with noise, steps, failures and gaps."""
    write_history(series=series, points=points, seed=7, now=timezone.now())


def history_with_alerts() -> None:
    history()
    alerts()


def alerts() -> None:
    """Write the alerts that the detector finds in the history, in every state of triage."""
    write_alerts()


def busy_site() -> Run:
    """A history, a run at work, which is returned, and a job with everything."""
    history(series=200, points=12)
    run = fleet_at_work()
    job_with_everything()
    return run


def fleet_at_work() -> Run:
    """A run in the middle of its jobs, with a busy worker, a paused one and one that is offline."""
    now, machine, track = timezone.now(), Machine.objects.get(key=KEY), Track.objects.get(key=KEY)
    busy = _workers(machine, now)
    assert track.build is not None
    run = Run.objects.create(
        label="Run now: llm",
        state=RunState.RUNNING,
        build=track.build,
        track=track,
        machine=machine,
    )
    cases = Series.objects.filter(metric="passed").select_related("benchmark", "config")
    cases = cases[: len(JOB_STATES)]
    for position, (series, state) in enumerate(zip(cases, JOB_STATES, strict=True)):
        job = Job(
            run=run,
            benchmark=series.benchmark,
            config=series.config,
            position=position,
            state=state,
            planned_at=now,
        )
        started_at = now - timedelta(minutes=8 - position)
        if state == JobState.RUNNING:
            job.claimed_at, job.worker, job.phase = started_at, busy, "sampling"
        elif state != JobState.QUEUED:
            job.claimed_at, job.finished_at = started_at, started_at + timedelta(seconds=47)
            job.status, job.message = ENDINGS.get(position, (Status.PASS, ""))
        job.save()
    return run


def _workers(machine: Machine, now: datetime) -> Worker:
    """A busy worker, which is returned, a paused one and one that is offline."""
    facts = {"host": "builder", "cpu": "Xeon", "cores": 2}
    busy = Worker.objects.create(
        name="busy", machine=machine, token_hash="1", device="cpu", facts=facts, last_seen=now
    )
    Worker.objects.create(
        name="resting", machine=machine, token_hash="2", device="cpu", paused=True, last_seen=now
    )
    Worker.objects.create(
        name="gone", machine=machine, token_hash="3", last_seen=now - timedelta(days=2)
    )
    return busy


def fail_newest(status: str) -> Job:
    """The newest job of a compiled case, as if it had ended with ``status`` and no value."""
    series = (
        Series.objects.filter(
            machine__key=KEY,
            metric="latency_ms",
            config__name="regional",
        )
        .select_related("last_job")
        .first()
    )
    assert series is not None
    job = series.last_job
    assert job is not None
    others = Datum.objects.filter(job=job).exclude(series=series)
    lost = Counter(dict.fromkeys(others.values_list("series_id", flat=True), -1))
    others.delete()
    Datum.objects.filter(job=job, series=series).update(
        status=status, value=None, low=None, high=None
    )
    Job.objects.filter(pk=job.pk).update(status=status)
    roll_up(Counter({**lost, series.pk: 0}))
    newest.roll_up(series=[*lost, series.pk])
    return Job.objects.select_related("benchmark", "config").get(pk=job.pk)


def job_with_everything() -> Job:
    """A job of the newest night, with a result document and the samples of both arms."""
    job = (
        Job.objects.select_related("run", "benchmark", "config")
        .filter(config__name="inductor", status=Status.PASS, run__state=RunState.COMPLETED)
        .order_by("planned_at", "-position")
        .last()
    )
    assert job is not None
    document = result_document()
    environment, _ = Environment.objects.get_or_create(
        fingerprint=document["environment"]["fingerprint"],
        defaults={"document": document["environment"]},
    )
    Result.objects.create(
        job=job,
        attempt=1,
        status="pass",
        document=document,
        digest="0" * 64,
        environment=environment,
        suite_version="0.1.0",
    )
    rng = np.random.default_rng(3)
    for arm, median_ms in (("eager", 20.6), ("compiled", 17.4)):
        outliers = rng.normal(0, 0.01, 400) + 0.08 * (rng.random(400) < 0.03)
        values = median_ms * np.exp(outliers)
        packed = zlib.compress(values.astype("<f8").tobytes())
        Samples.objects.create(
            job=job, arm=arm, count=400, values=packed, planned_at=job.planned_at
        )
    job.log_tail = "phase: starts\nphase: eager\nphase: sampling\nphase: write\n"
    job.save(update_fields=["log_tail"])
    return job


def result_document() -> dict[str, Any]:
    """A real result of the suite, completed with every section that the job page shows."""
    document: dict[str, Any] = json.loads(REAL_RESULT.read_text())
    del document["samples"]  # they have their own table
    document["metrics"] |= {
        "speedup": {"value": 1.184, "low": 1.171, "high": 1.197, "n": 400},
        "latency_ms": {"value": 17.41, "low": 17.36, "high": 17.47, "n": 400},
        "eager_latency_ms": {"value": 20.61, "low": 20.55, "high": 20.69, "n": 400},
        "warm_start_s": {"value": 3.18, "low": None, "high": None, "n": 1},
        "graph_breaks": {"value": 2, "low": None, "high": None, "n": 1},
        "recompiles": {"value": 1, "low": None, "high": None, "n": 1},
        "compiled_ops_percent": {"value": 98.4, "low": None, "high": None, "n": 1},
        "overhead_us": {"value": 214.6, "low": 209.1, "high": 222.8, "n": 50},
    }
    document["absent"] = {"latency_p99_ms": "needs 1,000 single steps; 200 were asked for"}
    document["compile"] |= {
        "graph_breaks": [
            {"reason": "call to warnings.warn", "location": "modeling_gpt2.py:812", "count": 2}
        ],
        "recompiles": [
            {"reason": "size mismatch at index 1: expected 128, actual 96", "function": "forward"}
        ],
        "hints": ["reduction over dim 0 is not fused"],
    }
    document["calls"] = {
        "steps": 50,
        "graphs": 3,
        "lookups": 3,
        "lookup_us": 152.3,
        "eager_operators": 252,
        "operators_outside": 4,
        "outside": {"aten::item": 2, "aten::sum": 2},
    }
    document["profile"] = {"eager": kernels.BEFORE, "compiled": kernels.AFTER}
    document["marks"] = [
        {
            "kind": "cpu_pressure",
            "detail": "tasks here waited for a CPU in 4% of the sampling time",
        }
    ]
    return document
