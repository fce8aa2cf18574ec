"""Two releases measured on one GPU, as result files.

What differs between them is stated here, the noise is made up.
"""

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from dashboard.models import Job, JobState, Run, RunState, TorchBuild
from dashboard.results.services.import_existing import ImportSource
from dashboard.results.services.imports import import_results
from tests.builders.site import describe

BASE, NEW = "2.11.0+cu130", "2.13.0+cu130"
MACHINE = "h100"
SPREAD = 0.003  # between processes, as seen on one H100


@dataclass(frozen=True, slots=True)
class Release:
    """Differences of one model in the new release, as factors.

    They are factors of eager latency, of the compiled step alone, of the cold start, and of memory.
    """

    family: str
    eager: float = 1.0
    compiled: float = 1.0
    cold: float = 1.0
    memory: float = 1.0
    status: str = "pass"


MODELS = {
    "gpt2": Release("llm", compiled=0.95, cold=1.15),
    "llama": Release("llm", eager=0.96),
    "sd_unet": Release("diffusion", compiled=1.05),
    "resnet50": Release("vision"),
    "vit_b16": Release("vision", eager=0.97, compiled=0.97),
    "captioning": Release("multimodal", status="fail_to_compile"),
}


def import_two_releases(
    repeats: int = 6,
    models: Sequence[str] = tuple(MODELS),
    machine: str = MACHINE,
    seed: int = 1,
    **fields: Any,
) -> None:
    """Through the real import; `fields` replace those of the new release's documents."""
    rng = np.random.default_rng(seed)
    documents: list[dict[str, Any]] = []
    for name in models:
        documents += _documents(rng, BASE, name, Release(""), repeats)
    for name in models:
        for result in _documents(rng, NEW, name, MODELS[name], repeats):
            documents.append({**result, **fields})
    sources = []
    for number, result in enumerate(documents):
        sources.append(ImportSource(f"{number}.json", orjson.dumps(result)))
    report = import_results(sources=sources, machine=machine)
    assert not report.refused, report.refused[0]


def add_failed_run(build: TorchBuild) -> Run:
    """Another run of the base release's place: one case of captioning, which failed."""
    like = Job.objects.filter(run__build__label=BASE, benchmark__model="captioning").first()
    assert like is not None
    place = like.run
    run = Run.objects.create(
        build=build, machine=place.machine, track=place.track, state=RunState.COMPLETED
    )
    Job.objects.create(
        run=run,
        benchmark=like.benchmark,
        config=like.config,
        state=JobState.DONE,
        status="fail_to_run",
        planned_at=like.planned_at,
        finished_at=like.finished_at,
    )
    return run


def _documents(
    rng: np.random.Generator, build: str, model: str, effect: Release, repeats: int
) -> Iterator[dict[str, Any]]:
    for mode in ("inference", "training"):
        for config in ("eager", "inductor"):
            for repeat in range(repeats):
                yield document(rng, build, model, mode, config, effect, repeat)


def document(
    rng: np.random.Generator,
    build: str,
    model: str,
    mode: str,
    config: str,
    effect: Release,
    repeat: int,
) -> dict[str, Any]:
    """One result.v1 as the suite writes it, without samples."""
    benchmark = describe(f"{model}.standard.{mode}.bfloat16.static.b16", MODELS[model].family)
    number = f"{build.partition('+')[0]}-{model}-{mode}-{config}-{repeat}"
    failed = config != "eager" and effect.status != "pass"
    return {
        "schema": "result.v1",
        "job": {
            "job_id": number,
            "attempt": 1,
            "benchmark": benchmark["name"],
            "config": config,
            "build": build,
            "planned_at": f"2026-11-21T1{repeat}:00:00+00:00",
        },
        "status": effect.status if failed else "pass",
        "message": "lowering of aten.foo failed" if failed else "",
        "started_at": f"2026-11-21T1{repeat}:00:01+00:00",
        "finished_at": f"2026-11-21T1{repeat}:01:00+00:00",
        "suite_version": "0.1.0",
        "benchmark": {key: value for key, value in benchmark.items() if key != "default_configs"},
        "environment": environment(build),
        "metrics": {} if failed else _metrics(rng, model, mode, config, effect),
        "absent": {},
        "samples": {},
    }


def environment(build: str, transformers: str = "5.17.0") -> dict[str, Any]:
    version = build.partition("+")[0]
    return {
        "fingerprint": hashlib.sha256(f"{build} {transformers}".encode()).hexdigest()[:16],
        "torch": {
            "version": build,
            "git_sha": f"{int(version.replace('.', '')):040x}",
            "cuda": "13.0",
            "triton": "3.6",
        },
        "python": "3.12.3",
        "libraries": {
            "transformers": transformers,
            "diffusers": "0.42.1",
            "triton": f"3.{version[2:4]}",
        },
        "machine": {
            "cpu": "Xeon",
            "cores": 16,
            "memory_gb": 135.1,
            "gpu": "NVIDIA H100 80GB HBM3",
        },
        "settings": {"threads": 8},
    }


def _metrics(
    rng: np.random.Generator, model: str, mode: str, config: str, effect: Release
) -> dict[str, dict[str, float | int | None]]:
    size = 10.0 * (1 + [*MODELS].index(model)) * (3 if mode == "training" else 1)
    process = math.exp(rng.normal(0, SPREAD))
    eager = size * effect.eager * process
    compiled = eager / 2 * effect.compiled * math.exp(rng.normal(0, SPREAD / 3))
    is_eager = config == "eager"
    metrics = {
        "latency_ms": _with_interval(eager if is_eager else compiled),
        "peak_memory_gb": _without_interval(size / 10 * (1.0 if is_eager else 0.8 * effect.memory)),
        "drift": _without_interval(1e-3 if is_eager else 1.1e-3),
        "passed": _without_interval(1.0),
    }
    if is_eager:
        return metrics
    return metrics | {
        "eager_latency_ms": _with_interval(eager),
        "speedup": _with_interval(eager / compiled),
        "cold_start_s": _without_interval(size * effect.cold * math.exp(rng.normal(0, 0.02))),
        "warm_start_s": _without_interval(size / 5 * math.exp(rng.normal(0, 0.02))),
    }


def _with_interval(value: float) -> dict[str, float | int | None]:
    return {
        "value": value,
        "low": value * 0.999,
        "high": value * 1.001,
        "n": 90,
    }


def _without_interval(value: float) -> dict[str, float | int | None]:
    return {"value": value, "low": None, "high": None, "n": 1}
