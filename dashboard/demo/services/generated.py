"""Fills the database with a made-up history, for trying the site at a size that nobody has measured
yet.

All of it hangs on the machine and the track `generated`, so that no page mixes it with
measurements; `remove_history` deletes it.
"""

import math
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zlib import crc32

import numpy as np
from django.db import connection, transaction
from numpy.typing import NDArray

from dashboard.demo import synthetic
from dashboard.demo.synthetic import METRICS, History
from dashboard.models import (
    AlertGroup,
    Benchmark,
    Config,
    Datum,
    DayLevel,
    JobState,
    Machine,
    Purpose,
    Run,
    RunState,
    Series,
    TorchBuild,
    Track,
)
from dashboard.results.services import days, levels
from dashboard.results.services.store import FAILED_LATENCY, roll_up
from dashboard.runs.services.partitions import ensure_partitions

KEY = "generated"
CONFIGS = {  # name -> its usual speedup, lowest and highest
    "eager": (1.0, 1.0),
    "inductor": (0.9, 1.9),
    "inductor_reduce_overhead": (0.95, 2.4),
    "inductor_dynamic": (0.85, 1.6),
    "regional": (0.9, 1.8),
}
FAMILIES = {
    "llm": ("gpt2", "llama", "qwen3"),
    "diffusion": ("sd_unet",),
    "vision": ("resnet50", "vit_b16", "convnext"),
    "multimodal": ("captioning",),
    "toy": ("mlp",),
}
DTYPES = ("float32", "bfloat16")
MODES = ("inference", "training")
NIGHTS_PER_BUILD = 5
SHARE_OF_MISSED_NIGHTS = 0.04
CASES_PER_COPY = 20
_JOB_COLUMNS = (
    "uuid, run_id, benchmark_id, config_id, position, spec, state, status, message, attempt, "
    "max_attempts, phase,"
    " log_tail, planned_at, claimed_at, finished_at"
)
_DATUM_COLUMNS = (
    "series_id, planned_at, job_id, build_id, purpose, status, benchmark_version, "
    "value, low, high, count"
)

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Night:
    """One run of the history."""

    run: Run
    build: int  # its place among the builds, from 0
    at: datetime


@dataclass(frozen=True, slots=True)
class MadeCase:
    """One case of the history with the series of its metrics."""

    number: int
    benchmark: Benchmark
    config: Config
    series: dict[str, Series]


@dataclass(frozen=True, slots=True)
class HistorySummary:
    """What was written."""

    series: int
    jobs: int
    data: int


def generate_history(
    *, series: int, points: int, seed: int, now: datetime, progress: Progress
) -> HistorySummary:
    """Write at least ``series`` series of ``points`` data each, one point a night until ``now``.

    1. machine, track, builds, configs and benchmarks; 2. a run for each night; 3. for a few cases
       at a time: their jobs
    and data by COPY, then the rollups of their series; 4. the rollup by day. ``progress`` is told
    cases done and cases in all.
    """
    nights = _nights(points, now, np.random.default_rng(seed))
    ensure_partitions(moments=[night.at for night in nights])
    cases = _cases(math.ceil(series / len(METRICS)), nights[0].run.machine, nights[0].run.track)
    token = uuid.UUID(bytes=np.random.default_rng([seed, points]).bytes(16), version=4).int >> 64
    data = 0
    for first in range(0, len(cases), CASES_PER_COPY):
        data += _write(cases[first : first + CASES_PER_COPY], nights, seed, token)
        progress(min(first + CASES_PER_COPY, len(cases)), len(cases))
    with transaction.atomic():
        days.roll_up(
            series=[series.pk for case in cases for series in case.series.values()],
            since=nights[0].at.date(),
        )
    return HistorySummary(len(cases) * len(METRICS), len(cases) * points, data)


def remove_history() -> None:
    """Delete everything that hangs on the machine `generated`, and the builds made for it."""
    with transaction.atomic():
        AlertGroup.objects.filter(machine__key=KEY).delete()
        Datum.objects.filter(series__machine__key=KEY).delete()
        DayLevel.objects.filter(
            machine_id__in=Machine.objects.filter(key=KEY).values("pk")
        ).delete()
        Series.objects.filter(machine__key=KEY).delete()
        Run.objects.filter(machine__key=KEY).delete()
        Track.objects.filter(key=KEY).delete()
        Machine.objects.filter(key=KEY).delete()
        TorchBuild.objects.filter(label__endswith=f"+{KEY}").delete()
        Benchmark.objects.filter(version=0, series=None, jobs=None).delete()


def _nights(points: int, now: datetime, rng: np.random.Generator) -> list[Night]:
    """``points`` runs, a night apart, some nights missed; builds change every few nights."""
    machine, _ = Machine.objects.get_or_create(
        key=KEY, defaults={"label": "Generated history, not measured", "device_kind": "cpu"}
    )
    missed = np.cumsum(1 + (rng.random(points) < SHARE_OF_MISSED_NIGHTS))
    times = [now - timedelta(days=int(missed[-1] - night), hours=1) for night in missed]
    builds = [_build(times[first]) for first in range(0, points, NIGHTS_PER_BUILD)]
    track, _ = Track.objects.update_or_create(
        key=KEY, defaults={"label": "Generated history", "build": builds[-1]}
    )
    runs = [
        Run(
            label="Nightly, generated",
            purpose=Purpose.SCHEDULED,
            state=RunState.COMPLETED,
            machine=machine,
            track=track,
            build=builds[number // NIGHTS_PER_BUILD],
            finished_at=at + timedelta(hours=1),
        )
        for number, at in enumerate(times)
    ]
    Run.objects.bulk_create(runs)
    for run, at in zip(runs, times, strict=True):
        run.created_at = at  # auto_now_add has set it to now
    Run.objects.bulk_update(runs, ["created_at"], batch_size=500)
    return [
        Night(run, number // NIGHTS_PER_BUILD, at)
        for number, (run, at) in enumerate(zip(runs, times, strict=True))
    ]


def _build(at: datetime) -> TorchBuild:
    version = f"2.14.0.dev{at:%Y%m%d}"
    defaults = {"version": version, "channel": TorchBuild.Channel.NIGHTLY}
    return TorchBuild.objects.get_or_create(label=f"{version}+{KEY}", defaults=defaults)[0]


def _cases(count: int, machine: Machine, track: Track) -> list[MadeCase]:
    """``count`` cases: benchmarks with ever larger batches, each in every config, with their
    series.
    """
    configs = [
        Config.objects.get_or_create(name=name, defaults={"label": name, "position": position})[0]
        for position, name in enumerate(CONFIGS)
    ]
    benchmarks = _benchmarks(math.ceil(count / len(configs)))
    pairs = [(benchmark, config) for benchmark in benchmarks for config in configs][:count]
    series = [
        Series(benchmark=benchmark, config=config, machine=machine, track=track, metric=metric)
        for benchmark, config in pairs
        for metric in METRICS
    ]
    Series.objects.bulk_create(series, batch_size=2000)
    width = len(METRICS)
    return [
        MadeCase(
            number,
            *pair,
            dict(zip(METRICS, series[number * width : (number + 1) * width], strict=True)),
        )
        for number, pair in enumerate(pairs)
    ]


def _benchmarks(count: int) -> list[Benchmark]:
    """``count`` benchmarks; those that no worker has brought get version 0, which tells that they
    are made up.
    """
    kinds = [
        (family, model, mode, dtype)
        for dtype in DTYPES
        for mode in MODES
        for family, models in FAMILIES.items()
        for model in models
    ]
    wanted = []
    for number in range(count):
        (family, model, mode, dtype), batch = (
            kinds[number % len(kinds)],
            8 * (1 + number // len(kinds)),
        )
        wanted.append(
            Benchmark(
                name=f"{model}.standard.{mode}.{dtype}.static.b{batch}",
                version=0,
                model=model,
                family=family,
                size="standard",
                mode=mode,
                dtype=dtype,
                shapes="static",
                batch_size=batch,
                position=1000 + number,
                retired=True,
                imported=True,
            )
        )
    Benchmark.objects.bulk_create(wanted, ignore_conflicts=True)
    found = {
        one.name: one for one in Benchmark.objects.filter(name__in=[one.name for one in wanted])
    }
    return [found[one.name] for one in wanted]


def _write(cases: list[MadeCase], nights: list[Night], seed: int, token: int) -> int:
    """The jobs, data and rollups of a few cases, in one transaction; how many data."""
    builds = np.array([night.build for night in nights])
    made = [(case, _history(case, builds, seed)) for case in cases]
    lengths: Counter[int] = Counter()
    with transaction.atomic():
        _copy("dashboard_job", _JOB_COLUMNS, _job_rows(made, nights, token))
        _copy("dashboard_datum", _DATUM_COLUMNS, _datum_rows(made, nights, token, lengths))
        roll_up(lengths)
        levels.roll_up(series=lengths, builds={night.run.build_id for night in nights})
    return lengths.total()


def _history(case: MadeCase, builds: NDArray[np.intp], seed: int) -> History:
    """Drawn from the benchmark for what its configs share, and from the case for the rest."""
    # a key differs by site
    benchmark, config = (crc32(one.name.encode()) for one in (case.benchmark, case.config))
    shared, own = (
        np.random.default_rng([seed, benchmark]),
        np.random.default_rng([seed, benchmark, config]),
    )
    eager_ms, memory_gb = (
        math.exp(shared.uniform(math.log(4), math.log(250))),
        float(shared.uniform(0.2, 40)),
    )
    gain = float(own.uniform(*CONFIGS[case.config.name]))
    return synthetic.history(own, builds, eager_ms, gain, memory_gb)


def _job_id(token: int, case: int, night: int) -> uuid.UUID:
    """The same job has the same id wherever it is written, without keeping millions of them in
    memory.
    """
    return uuid.UUID(int=token << 64 | 0b10 << 62 | case << 32 | night)


def _job_rows(
    made: list[tuple[MadeCase, History]], nights: list[Night], token: int
) -> Iterator[tuple[Any, ...]]:
    for case, history in made:
        for number, night in enumerate(nights):
            status = history.status[number]
            message = "" if status == "pass" else f"A generated {status}."
            claimed = night.at + timedelta(seconds=40 * (case.number % 60))
            yield (
                _job_id(token, case.number, number),
                night.run.pk,
                case.benchmark.pk,
                case.config.pk,
                case.number,
                "{}",
                JobState.DONE,
                status,
                message,
                1,
                3,
                "",
                "",
                night.at,
                claimed,
                claimed + timedelta(seconds=38),
            )


def _datum_rows(
    made: list[tuple[MadeCase, History]], nights: list[Night], token: int, lengths: Counter[int]
) -> Iterator[tuple[Any, ...]]:
    """As landing writes them: a failed case has a datum without a value in one series, none in the
    others.

    ``lengths`` is told how many data each series got.
    """
    for case, history in made:
        ids = [_job_id(token, case.number, number) for number in range(len(nights))]
        for metric, series in case.series.items():
            ends = (
                _nullable(history.value[metric]),
                _nullable(history.low[metric]),
                _nullable(history.high[metric]),
            )
            for night, job, status, value, low, high in zip(
                nights, ids, history.status, *ends, strict=True
            ):
                if value is None and metric != FAILED_LATENCY:
                    continue
                lengths[series.pk] += 1
                yield (
                    series.pk,
                    night.at,
                    job,
                    night.run.build_id,
                    Purpose.SCHEDULED,
                    status,
                    1,
                    value,
                    low,
                    high,
                    30,
                )


def _nullable(array: synthetic.Floats) -> list[float | None]:
    return [None if math.isnan(number) else number for number in array.tolist()]


def _copy(table: str, columns: str, rows: Iterator[tuple[Any, ...]]) -> None:
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
