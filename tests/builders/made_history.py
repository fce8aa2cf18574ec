"""A made-up history of any size, on a machine and a track called `generated`.

Noise between processes has heavy tails and remembers the day before, levels step at builds, single
points are outliers, cases fail for a while or once: charts, detection and queries have to cope with
all of it. The amounts follow what was seen on real machines: 0.3-2% between processes, half of it
within one.
"""

import math
from collections import Counter
from datetime import datetime, timedelta
from itertools import product
from typing import NamedTuple
from zlib import crc32

import numpy as np
from django.db import transaction
from numpy.typing import NDArray
from scipy.signal import lfilter

from dashboard.models import (
    Benchmark,
    Config,
    Datum,
    Job,
    JobState,
    Machine,
    Purpose,
    Run,
    RunState,
    Series,
    TorchBuild,
    Track,
)
from dashboard.results.services import levels, newest
from dashboard.results.services.store import FAILED_LATENCY, roll_up
from dashboard.runs.services.partitions import ensure_partitions

Floats = NDArray[np.float64]

KEY = "generated"
CONFIGS = {  # name -> its usual speedup, lowest and highest
    "eager": (1.0, 1.0),
    "inductor": (0.9, 1.9),
    "inductor_reduce_overhead": (0.95, 2.4),
    "inductor_dynamic": (0.85, 1.6),
    "regional": (0.9, 1.8),
}
MODELS = {  # name -> its family
    "gpt2": "llm",
    "llama": "llm",
    "qwen3": "llm",
    "sd_unet": "diffusion",
    "resnet50": "vision",
    "vit_b16": "vision",
    "convnext": "vision",
    "captioning": "multimodal",
    "mlp": "toy",
}
METRICS = (
    "latency_ms",
    "eager_latency_ms",
    "speedup",
    "throughput_per_s",
    "cold_start_s",
    "peak_memory_gb",
    "eager_peak_memory_gb",
    "compression_ratio",
    "drift",
    "passed",
)
WITH_INTERVAL = METRICS[:4]  # the other metrics have one value per process
LASTING_FAILURES = ("fail_to_compile", "fail_accuracy", "oom", "timeout")
NIGHTS_PER_BUILD = 5
CASES_AT_ONCE = 20


class Night(NamedTuple):
    """One run of the history; build: its number among the builds, from 0."""

    run: Run
    build: int
    at: datetime


class MadeCase(NamedTuple):
    """Data of one case. status: a word a night. value, low, high: by metric, NaN for none."""

    status: list[str]
    value: dict[str, Floats]
    low: dict[str, Floats]
    high: dict[str, Floats]


def write_history(*, series: int, points: int, seed: int, now: datetime) -> None:
    """Write at least `series` series of `points` data each, one a night until `now`."""
    nights = _nights(points, now, np.random.default_rng(seed))
    ensure_partitions(moments=[night.at for night in nights])
    cases = _cases(math.ceil(series / len(METRICS)))
    for first in range(0, len(cases), CASES_AT_ONCE):
        _write(cases[first : first + CASES_AT_ONCE], nights, seed, first)


def _nights(points: int, now: datetime, rng: np.random.Generator) -> list[Night]:
    """Runs, a night apart, some nights missed; builds change every few nights."""
    machine = Machine.objects.create(key=KEY, label="Generated history", device_kind="cpu")
    missed = np.cumsum(1 + (rng.random(points) < 0.04))
    times = [now - timedelta(days=int(missed[-1] - night), hours=1) for night in missed]
    builds = []
    for at in times[::NIGHTS_PER_BUILD]:
        version = f"2.14.0.dev{at:%Y%m%d}"
        defaults = {"version": version, "channel": TorchBuild.Channel.NIGHTLY}
        label = f"{version}+{KEY}"
        builds.append(TorchBuild.objects.get_or_create(label=label, defaults=defaults)[0])
    track = Track.objects.create(key=KEY, label="Generated history", build=builds[-1])
    nights = []
    for number, at in enumerate(times):
        build = number // NIGHTS_PER_BUILD
        run = Run(
            label="Nightly, generated",
            purpose=Purpose.SCHEDULED,
            state=RunState.COMPLETED,
            machine=machine,
            track=track,
            build=builds[build],
            finished_at=at + timedelta(hours=1),
        )
        nights.append(Night(run, build, at))
    runs = Run.objects.bulk_create([night.run for night in nights])
    for run, at in zip(runs, times, strict=True):
        run.created_at = at  # auto_now_add has set it to now
    Run.objects.bulk_update(runs, ["created_at"], batch_size=500)
    return nights


def _cases(count: int) -> list[tuple[Benchmark, Config]]:
    """Ever larger batches, each in every config."""
    configs = []
    for position, name in enumerate(CONFIGS):
        defaults = {"label": name, "position": position}
        configs.append(Config.objects.get_or_create(name=name, defaults=defaults)[0])
    kinds = list(product(("float32", "bfloat16"), ("inference", "training"), MODELS))
    benchmarks = []
    for number in range(math.ceil(count / len(configs))):
        dtype, mode, model = kinds[number % len(kinds)]
        batch = 8 * (1 + number // len(kinds))
        benchmark = Benchmark(
            name=f"{model}.standard.{mode}.{dtype}.static.b{batch}",
            version=0,
            model=model,
            family=MODELS[model],
            size="standard",
            mode=mode,
            dtype=dtype,
            shapes="static",
            batch_size=batch,
            position=1000 + number,
            retired=True,
            imported=True,
        )
        benchmarks.append(benchmark)
    Benchmark.objects.bulk_create(benchmarks, ignore_conflicts=True)
    names = [benchmark.name for benchmark in benchmarks]
    stored = Benchmark.objects.in_bulk(names, field_name="name")
    return list(product([stored[name] for name in names], configs))[:count]


def _write(
    cases: list[tuple[Benchmark, Config]], nights: list[Night], seed: int, position: int
) -> None:
    """Write the jobs, data and rollups of a few cases."""
    place = nights[0].run
    builds = np.array([night.build for night in nights])
    jobs: list[Job] = []
    data: list[Datum] = []
    for number, (benchmark, config) in enumerate(cases, position):
        made = made_case(benchmark.name, config.name, builds, seed)
        own = []
        for night, status in zip(nights, made.status, strict=True):
            claimed = night.at + timedelta(seconds=40 * (number % 60))
            job = Job(
                run=night.run,
                benchmark=benchmark,
                config=config,
                position=number,
                state=JobState.DONE,
                status=status,
                message="" if status == "pass" else f"A generated {status}.",
                planned_at=night.at,
                claimed_at=claimed,
                finished_at=claimed + timedelta(seconds=38),
            )
            own.append(job)
        jobs += own
        rows = [
            Series(
                benchmark=benchmark,
                config=config,
                machine=place.machine,
                track=place.track,
                metric=metric,
            )
            for metric in METRICS
        ]
        for series in Series.objects.bulk_create(rows):
            data += _data(series, own, made)
    lengths = Counter(datum.series_id for datum in data)
    with transaction.atomic():
        Job.objects.bulk_create(jobs, batch_size=2000)
        Datum.objects.bulk_create(data, batch_size=2000)
        roll_up(lengths)
        levels.roll_up(series=lengths, builds={night.run.build_id for night in nights})
        newest.roll_up(series=lengths)


def _data(series: Series, jobs: list[Job], made: MadeCase) -> list[Datum]:
    """As the result store writes them: of a failed job one datum without value, in one series."""
    data = []
    columns = (made.value, made.low, made.high)
    rows = zip(*(column[series.metric].tolist() for column in columns), strict=True)
    for job, ends in zip(jobs, rows, strict=True):
        value, low, high = (None if math.isnan(number) else number for number in ends)
        if value is None and series.metric != FAILED_LATENCY:
            continue
        datum = Datum(
            series=series,
            job=job,
            planned_at=job.planned_at,
            build_id=job.run.build_id,
            purpose=Purpose.SCHEDULED,
            status=job.status,
            value=value,
            low=low,
            high=high,
            count=30,
        )
        data.append(datum)
    return data


def made_case(benchmark: str, config: str, builds: NDArray[np.intp], seed: int) -> MadeCase:
    """Drawn from the benchmark for what its configs share, and from both for the rest.

    builds: the number of each night's build, never falling.
    """
    # Seeded by names: primary keys differ from site to site
    shared = np.random.default_rng([seed, crc32(benchmark.encode())])
    eager_ms = math.exp(shared.uniform(math.log(4), math.log(250)))
    memory_gb = float(shared.uniform(0.2, 40))
    rng = np.random.default_rng([seed, crc32(benchmark.encode()), crc32(config.encode())])
    gain = float(rng.uniform(*CONFIGS[config]))

    nights = len(builds)
    spread = float(rng.uniform(0.003, 0.02))
    eager = latency = eager_ms * _walk(rng, builds, spread, step_rate=0.01)
    if gain != 1:
        latency = eager_ms / gain * _walk(rng, builds, spread, step_rate=0.03)
    eager_memory = memory = memory_gb * _walk(rng, builds, 0.0005, step_rate=0.01)
    if gain != 1:
        memory = eager_memory * rng.uniform(0.6, 1.05)
    value = {
        "latency_ms": latency,
        "eager_latency_ms": eager,
        "speedup": eager / latency,
        "throughput_per_s": 32_000 / latency,
        "cold_start_s": rng.uniform(3, 60) * _walk(rng, builds, 0.03, step_rate=0.02),
        "peak_memory_gb": memory,
        "eager_peak_memory_gb": eager_memory,
        "compression_ratio": eager_memory / memory,
        "drift": 10 ** rng.uniform(-7, -3) * _walk(rng, builds, 0.001, step_rate=0.02),
        "passed": np.ones(nights),
    }

    status = np.full(nights, "pass", dtype=object)
    if rng.random() < 0.15:  # a failure that lasts
        first = rng.integers(nights)
        length = 1 + int(nights * rng.uniform(0.02, 0.15))
        status[first : first + length] = rng.choice(LASTING_FAILURES)
    status[rng.random(nights) < 0.004] = "crashed"
    for key in METRICS:
        value[key][status != "pass"] = 0 if key == "passed" else np.nan
    low = {key: np.full(nights, np.nan) for key in METRICS}
    high = {key: np.full(nights, np.nan) for key in METRICS}
    for key in WITH_INTERVAL:
        half_width = value[key] * spread * rng.uniform(0.4, 1.2, nights)
        low[key] = value[key] - half_width
        high[key] = value[key] + half_width
    return MadeCase(list(status), value, low, high)


def _walk(
    rng: np.random.Generator, builds: NDArray[np.intp], spread: float, step_rate: float
) -> Floats:
    """A factor around 1 for each night: steps at builds, AR(1) noise of t(3), single outliers."""
    nights, count = len(builds), int(builds[-1]) + 1
    steps = np.where(rng.random(count) < step_rate, rng.normal(0, 0.06, count), 0)
    innovations = rng.standard_t(3, nights) * spread / np.sqrt(3)
    noise = lfilter([1.0], [1.0, -0.3], innovations)
    outliers = np.where(rng.random(nights) < 0.005, rng.uniform(0.05, 0.3, nights), 0)
    factor: Floats = np.exp(np.cumsum(steps)[builds] + noise + outliers)
    return factor
