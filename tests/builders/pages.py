"""What pages show: a generated history, a fleet at work, and one job with everything that a result can tell."""

import zlib
from collections import Counter
from datetime import timedelta
from typing import Any

import numpy as np
from django.utils import timezone

from dashboard.models import (
    Benchmark,
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
from dashboard.services.generated import KEY, generate_history, remove_history
from dashboard.services.landing import roll_up

ENVIRONMENT = {
    "fingerprint": "0123456789abcdef",
    "torch": {"version": "2.14.0.dev20261120", "git_sha": "f00dfacef00dface", "cuda": None, "cudnn": None, "triton": "3.7.1"},
    "python": "3.11.7",
    "libraries": {"transformers": "5.23.0", "diffusers": "0.42.1"},
    "machine": {"cpu": "Xeon", "cores": 2, "memory_gb": 23.4, "gpu": None, "host": "builder"},
    "settings": {"threads": 1, "matmul_precision": "highest", "environment": {"OMP_NUM_THREADS": "1"}},
}


def history(series: int = 480, points: int = 60) -> None:
    """12 benchmarks × 4 configs × 60 nights, unless told otherwise, with noise, steps, failures and missed nights."""
    generate_history(series=series, points=points, seed=7, now=timezone.now(), progress=lambda done, of: None)


def fleet_at_work() -> Run:
    """A run in the middle of its jobs, a worker that measures, one that is paused and one that fell silent."""
    now, machine, track = timezone.now(), Machine.objects.get(key=KEY), Track.objects.get(key=KEY)
    facts = {"host": "builder", "cpu": "Xeon", "cores": 2}
    busy = Worker.objects.create(name="busy", machine=machine, token_hash="1", device="cpu", facts=facts, last_seen=now)
    Worker.objects.create(name="resting", machine=machine, token_hash="2", device="cpu", paused=True, last_seen=now)
    Worker.objects.create(name="gone", machine=machine, token_hash="3", last_seen=now - timedelta(days=2))
    assert track.build is not None
    run = Run.objects.create(label="Run now: llm", state=RunState.RUNNING, build=track.build, track=track, machine=machine)
    states = [(JobState.DONE, Status.PASS)] * 5 + [(JobState.DONE, Status.FAIL_TO_COMPILE), (JobState.TIMED_OUT, Status.TIMEOUT)]
    states += [(JobState.RUNNING, "")] + [(JobState.QUEUED, "")] * 4
    cases = Series.objects.filter(metric="passed").select_related("benchmark", "config")[: len(states)]
    for position, ((state, status), case) in enumerate(zip(states, cases, strict=True)):
        start = now - timedelta(minutes=8 - position)
        Job.objects.create(
            run=run, benchmark=case.benchmark, config=case.config, position=position, state=state, status=status,
            planned_at=now, claimed_at=None if state == JobState.QUEUED else start, worker=busy if state == JobState.RUNNING else None,
            finished_at=start + timedelta(seconds=47) if status else None, phase="sampling" if state == JobState.RUNNING else "",
            message="" if status in {"", Status.PASS} else "BackendCompilerFailed: lowering of aten.foo failed. Run the ablation to see which stage is at fault.",
        )  # fmt: skip
    return run


def fail_newest(status: str) -> Job:
    """The newest job of a compiled case, as if it had ended with ``status`` and no number."""
    series = Series.objects.filter(machine__key=KEY, metric="latency_ms", config__name="regional").select_related("last_job").first()
    assert series is not None
    job = series.last_job
    assert job is not None
    Datum.objects.filter(job=job).exclude(series=series).delete()
    Datum.objects.filter(job=job, series=series).update(status=status, value=None, low=None, high=None)
    Job.objects.filter(pk=job.pk).update(status=status)
    roll_up(Counter({series.pk: 0}))
    return Job.objects.select_related("benchmark", "config").get(pk=job.pk)


def remove() -> None:
    """Everything that this module makes."""
    Job.objects.filter(run__machine__key=KEY).update(worker=None)
    Worker.objects.filter(machine__key=KEY).delete()
    Result.objects.filter(job__run__machine__key=KEY).delete()
    remove_history()
    Environment.objects.all().delete()


def job_with_everything() -> Job:
    """A job of the newest night, with a result document and the samples of both arms."""
    job = Job.objects.select_related("run", "benchmark", "config").filter(config__name="inductor", status=Status.PASS).latest("planned_at")
    environment, _ = Environment.objects.get_or_create(fingerprint=ENVIRONMENT["fingerprint"], defaults={"document": ENVIRONMENT})
    document = result_document(job.benchmark)
    Result.objects.create(job=job, attempt=1, status="pass", document=document, digest="0" * 64, environment=environment, suite_version="0.1.0")
    rng = np.random.default_rng(3)
    for arm, middle in (("eager", 20.6), ("compiled", 17.4)):
        values = middle * np.exp(rng.normal(0, 0.01, 400) + 0.08 * (rng.random(400) < 0.03))
        packed = zlib.compress(values.astype("<f8").tobytes())
        Samples.objects.create(job=job, arm=arm, count=400, values=packed, planned_at=job.planned_at)
    job.log_tail = "phase: starts\nphase: eager\nphase: sampling\nphase: write\n"
    job.save(update_fields=["log_tail"])
    return job


def result_document(benchmark: Benchmark) -> dict[str, Any]:
    """A result.v1 with every section that the job page shows."""
    metrics = {
        "speedup": (1.184, 1.171, 1.197, 400), "latency_ms": (17.41, 17.36, 17.47, 400), "eager_latency_ms": (20.61, 20.55, 20.69, 400),
        "latency_p90_ms": (17.9, None, None, 200), "throughput_per_s": (1838.1, 1832.0, 1843.4, 400), "cold_start_s": (12.71, None, None, 1),
        "warm_start_s": (3.18, None, None, 1), "peak_memory_gb": (0.412, None, None, 1), "eager_peak_memory_gb": (0.377, None, None, 1),
        "compression_ratio": (0.915, None, None, 1), "graph_breaks": (2, None, None, 1), "recompiles": (1, None, None, 1),
        "drift": (3.2e-7, None, None, 1), "eager_drift": (2.9e-7, None, None, 1), "break_even_steps": (3971, None, None, 1),
        "compile_dynamo_s": (3.1, None, None, 1), "compile_aot_s": (2.2, None, None, 1), "compile_inductor_s": (5.9, None, None, 1),
        "compile_triton_s": (1.1, None, None, 1),
    }  # fmt: skip
    return {
        "schema": "result.v1", "job": {}, "status": "pass", "message": "", "stage": "write", "suite_version": "0.1.0",
        "started_at": "2026-11-21T10:00:00Z", "finished_at": "2026-11-21T10:00:47Z",
        "wall_s": {"import": 3.1, "build": 0.4, "starts": 21.4, "reference": 1.2, "sampling": 18.8, "memory": 1.7},
        "benchmark": {"name": benchmark.name}, "environment": ENVIRONMENT,
        "metrics": {key: {"value": value, "low": low, "high": high, "n": n} for key, (value, low, high, n) in metrics.items()},
        "absent": {"latency_p99_ms": "needs 1,000 single steps; 200 were asked for"},
        "sampling": {"stopped_by": "target", "half_width_percent": 1.1, "pairs": 400},
        "accuracy": {
            "status": "pass", "reference": "fp64", "matmul_precision": "highest", "rule": "Drift at most twice eager's own.",
            "tensors": {"outputs": {"relative_l2": 3.2e-7, "max_error": 1.1e-6, "cosine": 0.99999}},
        },
        "compile": {
            "graph_breaks": [{"reason": "call to warnings.warn", "location": "modeling_gpt2.py:812", "count": 2}],
            "recompiles": [{"reason": "size mismatch at index 1: expected 128, actual 96", "function": "forward"}],
            "counters": {"fxgraph_cache_miss": 3}, "fingerprints": {"wrapper": "ab12", "kernels": "cd34"}, "hints": ["reduction over dim 0 is not fused"],
        },
        "starts": {"cold": {"first_step_s": 12.71, "cache_hits": 0}, "warm": {"first_step_s": 3.18, "cache_hits": 2}},
        "marks": [{"kind": "cpu_pressure", "detail": "another process waited for the CPU during 4 % of the sampling"}],
        "reproduce": f"python -m benchmarks_suite run --benchmark {benchmark.name} --config inductor --device cpu",
    }  # fmt: skip
