"""Fills the database with a made-up history, to try the site at a large size.

All of it belongs to the machine and the track `generated`, so that no page mixes it with
measurements; `remove_history` deletes it.
"""

import math
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, product
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
from dashboard.results.services import days, levels, newest
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
    "max_attempts, phase, log_tail, planned_at, claimed_at, finished_at"
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
    build: int  # its number among the builds, from 0
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

    1. machine, track, builds, configs and benchmarks
    2. a run for each night
    3. for a few cases at a time: their jobs and data by COPY, then the rollups of their series
    4. the rollup by day

    progress: called with the number of cases written, and of all cases.
    """
    nights = _nights(points, now, np.random.default_rng(seed))
    ensure_partitions(moments=[night.at for night in nights])
    cases = _cases(math.ceil(series / len(METRICS)), nights[0].run.machine, nights[0].run.track)
    token = uuid.UUID(bytes=np.random.default_rng([seed, points]).bytes(16), version=4).int >> 64
    data = 0
    for first in range(0, len(cases), CASES_PER_COPY):
        data += _write(cases[first : first + CASES_PER_COPY], nights, seed, token)
        progress(min(first + CASES_PER_COPY, len(cases)), len(cases))
    series_ids: list[int] = []
    for case in cases:
        series_ids += [row.pk for row in case.series.values()]
    with transaction.atomic():
        days.roll_up(series=series_ids, since=nights[0].at.date())
    return HistorySummary(len(cases) * len(METRICS), len(cases) * points, data)


def remove_history() -> None:
    """Delete everything that belongs to the machine `generated`, and the builds made for it."""
    with transaction.atomic():
        AlertGroup.objects.filter(machine__key=KEY).delete()
        Datum.objects.filter(series__machine__key=KEY).delete()
        machines = Machine.objects.filter(key=KEY)
        DayLevel.objects.filter(machine_id__in=machines.values("pk")).delete()
        Series.objects.filter(machine__key=KEY).delete()
        Run.objects.filter(machine__key=KEY).delete()
        Track.objects.filter(key=KEY).delete()
        machines.delete()
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
    nights: list[Night] = []
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
    Run.objects.bulk_create([night.run for night in nights])
    for night in nights:
        night.run.created_at = night.at  # auto_now_add has set it to now
    Run.objects.bulk_update([night.run for night in nights], ["created_at"], batch_size=500)
    return nights


def _build(at: datetime) -> TorchBuild:
    version = f"2.14.0.dev{at:%Y%m%d}"
    defaults = {"version": version, "channel": TorchBuild.Channel.NIGHTLY}
    build, _ = TorchBuild.objects.get_or_create(label=f"{version}+{KEY}", defaults=defaults)
    return build


def _cases(count: int, machine: Machine, track: Track) -> list[MadeCase]:
    """``count`` cases with their series: ever larger batches, each in every config."""
    configs: list[Config] = []
    for position, name in enumerate(CONFIGS):
        defaults = {"label": name, "position": position}
        configs.append(Config.objects.get_or_create(name=name, defaults=defaults)[0])
    benchmarks = _benchmarks(math.ceil(count / len(configs)))
    pairs = list(product(benchmarks, configs))[:count]
    cases: list[MadeCase] = []
    for number, (benchmark, config) in enumerate(pairs):
        series = {
            metric: Series(
                benchmark=benchmark, config=config, machine=machine, track=track, metric=metric
            )
            for metric in METRICS
        }
        cases.append(MadeCase(number, benchmark, config, series))
    all_series = chain.from_iterable(case.series.values() for case in cases)
    Series.objects.bulk_create(all_series, batch_size=2000)
    return cases


def _benchmarks(count: int) -> list[Benchmark]:
    """``count`` benchmarks; version 0 marks those that are made up: no worker has brought them."""
    models = [(family, model) for family, models in FAMILIES.items() for model in models]
    kinds = list(product(DTYPES, MODES, models))
    benchmarks: list[Benchmark] = []
    for number in range(count):
        dtype, mode, (family, model) = kinds[number % len(kinds)]
        batch = 8 * (1 + number // len(kinds))
        benchmarks.append(
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
    Benchmark.objects.bulk_create(benchmarks, ignore_conflicts=True)
    names = [benchmark.name for benchmark in benchmarks]
    stored = Benchmark.objects.in_bulk(names, field_name="name")
    return [stored[name] for name in names]


def _write(cases: list[MadeCase], nights: list[Night], seed: int, token: int) -> int:
    """The jobs, data and rollups of a few cases, in one transaction; how many data."""
    builds = np.array([night.build for night in nights])
    histories = [(case, _history(case, builds, seed)) for case in cases]
    lengths: Counter[int] = Counter()
    with transaction.atomic():
        _copy("dashboard_job", _JOB_COLUMNS, _job_rows(histories, nights, token))
        _copy("dashboard_datum", _DATUM_COLUMNS, _datum_rows(histories, nights, token, lengths))
        roll_up(lengths)
        levels.roll_up(series=lengths, builds={night.run.build_id for night in nights})
        newest.roll_up(series=lengths)
    return lengths.total()


def _history(case: MadeCase, builds: NDArray[np.intp], seed: int) -> History:
    """Drawn from the benchmark for what its configs share, and from the case for the rest."""
    # Seeded by names: primary keys differ from site to site
    benchmark = crc32(case.benchmark.name.encode())
    config = crc32(case.config.name.encode())
    shared = np.random.default_rng([seed, benchmark])
    eager_ms = math.exp(shared.uniform(math.log(4), math.log(250)))
    memory_gb = float(shared.uniform(0.2, 40))
    own = np.random.default_rng([seed, benchmark, config])
    gain = float(own.uniform(*CONFIGS[case.config.name]))
    return synthetic.history(own, builds, eager_ms, gain, memory_gb)


def _job_id(token: int, case: int, night: int) -> uuid.UUID:
    """A job's id, the same wherever it is written: no need to keep millions of them in memory."""
    return uuid.UUID(int=token << 64 | 0b10 << 62 | case << 32 | night)


def _job_rows(
    histories: list[tuple[MadeCase, History]], nights: list[Night], token: int
) -> Iterator[tuple[Any, ...]]:
    for case, history in histories:
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
    histories: list[tuple[MadeCase, History]],
    nights: list[Night],
    token: int,
    lengths: Counter[int],
) -> Iterator[tuple[Any, ...]]:
    """As the result store writes them: a failed case has one datum without a value, in one series.

    lengths: counts the data of each series.
    """
    for case, history in histories:
        for metric, series in case.series.items():
            value = _nullable(history.value[metric])
            low = _nullable(history.low[metric])
            high = _nullable(history.high[metric])
            for number, night in enumerate(nights):
                if value[number] is None and metric != FAILED_LATENCY:
                    continue
                lengths[series.pk] += 1
                yield (
                    series.pk,
                    night.at,
                    _job_id(token, case.number, number),
                    night.run.build_id,
                    Purpose.SCHEDULED,
                    history.status[number],
                    1,
                    value[number],
                    low[number],
                    high[number],
                    30,
                )


def _nullable(array: synthetic.Floats) -> list[float | None]:
    return [None if math.isnan(number) else number for number in array.tolist()]


def _copy(table: str, columns: str, rows: Iterator[tuple[Any, ...]]) -> None:
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
