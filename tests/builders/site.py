"""A machine, a track, a build, a worker and runs, so that a test says only what matters to it."""

import gzip
import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import timezone

from dashboard.catalog.services.suite_catalog import sync_build, sync_catalog
from dashboard.models import Benchmark, Job, JobState, Machine, Run, TorchBuild, Track, Worker
from dashboard.runs.services import fleet, leases
from dashboard.runs.services.runs import trigger_run

BOOT = "boot-1"
MLP = "mlp.smoke.inference.float32.static.b64"
GPT2 = "gpt2.smoke.inference.float32.static.b2"
GPT2_STANDARD = "gpt2.standard.training.bfloat16.static.b8"
UNET = "sd_unet.smoke.inference.float32.static.b1"  # in no default run
BUILD = "2.13.0+cpu"
STARTED = "2026-11-21T03:00:05+00:00"


def describe(name: str, family: str, default_configs: Sequence[str] = ()) -> dict[str, Any]:
    """One benchmark as the suite's catalog describes it."""
    model, size, mode, dtype, shapes, batch = name.split(".")
    return {
        "name": name,
        "model": model,
        "family": family,
        "size": size,
        "mode": mode,
        "dtype": dtype,
        "shapes": shapes,
        "batch_size": int(batch[1:]),
        "version": 1,
        "item": "samples",
        "default_configs": list(default_configs),
    }


def catalog() -> dict[str, Any]:
    """Four benchmarks and three configs."""
    return {
        "benchmarks": [
            describe(MLP, "toy", ["eager", "inductor"]),
            describe(GPT2, "llm", ["eager", "inductor"]),
            describe(GPT2_STANDARD, "llm", ["eager", "inductor"]),
            describe(UNET, "diffusion"),
        ],
        "configs": [
            {"name": "eager", "label": "Eager", "about": "No compiler."},
            {
                "name": "inductor",
                "label": "Inductor",
                "about": "torch.compile as it is.",
            },
            {"name": "regional", "label": "Regional", "about": "Each repeated block."},
        ],
    }


def machine(key: str = "cpu-2c") -> Machine:
    defaults = {"device_kind": "cpu", "default_size": "smoke"}
    machine, _ = Machine.objects.get_or_create(key=key, defaults=defaults)
    return machine


def build(label: str = BUILD) -> TorchBuild:
    """A build as a worker reports it; with a ~ in its label a variant, which people add; a commit
    (git-…) as an import brings it.
    """
    if label.startswith("git-"):
        return TorchBuild.objects.get_or_create(label=label, defaults={"version": label})[0]
    version, _, variant = label.partition("~")
    plain = sync_build(build={"label": version, "version": version})
    if not variant:
        return plain
    fields = {"base": plain, "version": plain.version}
    return TorchBuild.objects.get_or_create(label=label, defaults=fields)[0]


def track(key: str = "local") -> Track:
    return Track.objects.filter(key=key).first() or Track.objects.create(key=key, build=build())


def worker(name: str = "w1", on: str = "cpu-2c") -> Worker:
    """A worker that has said hello."""
    worker, _ = fleet.add_worker(name=name, machine=machine(on))
    fleet.hello(
        worker=worker,
        boot_id=BOOT,
        device="cpu",
        facts={},
        catalog=catalog(),
        builds=[],
    )
    return worker


def living_worker(name: str = "w1", on: str = "cpu-2c") -> Worker:
    """A worker that was heard of just now, and reads its own queue, too."""
    new = worker(name, on)
    new.last_seen = timezone.now()
    new.facts = {"own_queue": True}
    new.save(update_fields=["last_seen", "facts"])
    return new


def run(*benchmarks: str, configs: Sequence[str] = ("eager",), **fields: Any) -> Run:
    """A triggered run on the machine cpu-2c; by default of one job, the MLP."""
    if not Benchmark.objects.filter(name=UNET).exists():
        sync_catalog(catalog=catalog())
    defaults: dict[str, Any] = {
        "build": fields.get("build") or build().label,
        "machine": machine().key,
        "track": track().key,
        "benchmarks": benchmarks or [MLP],
        "configs": configs,
    }
    return trigger_run(**(defaults | fields))


def queued_job(**fields: Any) -> Job:
    """A job that waits for a worker, as if its message had been sent."""
    job = run(**fields).jobs.get()
    Job.objects.filter(pk=job.pk).update(state=JobState.QUEUED)
    return reload(job)


def running_job(by: Worker, **fields: Any) -> Job:
    """A job that this worker has claimed."""
    return claim(queued_job(**fields), by)


def claim(job: Job, by: Worker) -> Job:
    """The job after this worker has claimed its current attempt."""
    leases.claim(
        job_id=job.pk,
        attempt=reload(job).attempt,
        worker=by,
        boot_id=BOOT,
    )
    return reload(job)


def reload(job: Job) -> Job:
    return Job.objects.select_related("run", "benchmark", "config").get(pk=job.pk)


def result(of: Job, values: Mapping[str, float] | None = None, /, **fields: Any) -> dict[str, Any]:
    """A result.v1 of this job, which passed with a latency of 2 ms.

    values: by metric, instead of that. fields: instead of those of the document
    """
    if values is None:
        values = {"latency_ms": 2.0}
    benchmark_fields = describe(MLP, "")
    del benchmark_fields["default_configs"]
    return {
        "schema": "result.v1",
        "job": {**of.spec, "attempt": of.attempt},
        "status": "pass",
        "message": "",
        "started_at": STARTED,
        "finished_at": STARTED,
        "suite_version": "0.1.0",
        "benchmark": {field: getattr(of.benchmark, field) for field in benchmark_fields},
        "environment": environment(),
        "metrics": {
            metric: {
                "value": value,
                "low": value,
                "high": value,
                "n": 3,
            }
            for metric, value in values.items()
        },
        "absent": {},
        "samples": {"eager": {"unit": "ms", "inner": 10, "values": [2.0, 2.1, 1.9]}},
        **fields,
    }


def environment(fingerprint: str = "0123456789abcdef") -> dict[str, Any]:
    return {
        "fingerprint": fingerprint,
        "torch": {
            "version": BUILD,
            "git_sha": None,
            "cuda": None,
            "triton": None,
        },
        "python": "3.11.7",
        "libraries": {"transformers": "5.23.0"},
        "machine": {
            "cpu": "Xeon",
            "cores": 2,
            "memory_gb": 23.4,
            "gpu": None,
        },
        "settings": {"threads": 1},
    }


def delivery(
    job: Job, result: Mapping[str, Any] | None = None, status: str = "pass", **outcome: Any
) -> bytes:
    """Pack what a worker posts at a job's end, compressed."""
    defaults = {
        "status": status,
        "message": "",
        "exit_code": 0,
        "signal": None,
        "wall_s": 1.5,
        "log_tail": "",
    }
    return pack(
        {
            "attempt": job.attempt,
            "outcome": defaults | outcome,
            "result": result,
        }
    )


def pack(document: Any) -> bytes:
    return gzip.compress(json.dumps(document).encode())
