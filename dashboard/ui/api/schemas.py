"""The API's documents about what is and was measured: their fields are its contract."""

from datetime import date, datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.db.models import Model
from django.urls import reverse
from ninja import Field, Schema
from pydantic import ConfigDict

from dashboard.language.wording import metric_of
from dashboard.models import Series


def absolute(path: str) -> str:
    """An address of a page, as people use it."""
    return f"{settings.SITE_URL}{path}"


class Request(Schema):
    """What a person or a program asks for: a field that does not exist is refused, because without
    it the call would do something else.
    """

    model_config = ConfigDict(extra="forbid")


class Answer(Schema):
    """What the site says: each field is always there, null where there is nothing to say."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)


class Paged(Answer):
    """What has a page of its own."""

    url: str

    @staticmethod
    def resolve_url(row: Model) -> str:
        # Only models that have a page
        return absolute(row.get_absolute_url())  # type: ignore[attr-defined]


class DetectedChange(Answer):
    """One series of an alert in words and numbers: new minus base."""

    sentence: str = Field(description="The change in words, with its 95% interval.")
    at: datetime = Field(
        alias="alert.planned_at", description="Of the first point of the new level."
    )
    direction: str = Field(
        alias="alert.direction", description="regression, improvement or neutral."
    )
    effect: float | None = Field(alias="alert.size.effect", description="In `unit`.")
    low: float | None = Field(
        alias="alert.size.low", description="Lower end of the 95% interval, in `unit`."
    )
    high: float | None = Field(
        alias="alert.size.high", description="Upper end of the 95% interval, in `unit`."
    )
    unit: str = Field(
        alias="alert.size.unit",
        description="percent, or difference: in the metric's own unit.",
    )


class Machine(Schema):
    key: str
    label: str
    device_kind: str = Field(description="cpu or cuda.")
    default_size: str = Field(
        description="The size of the benchmarks that a default run measures here."
    )


class Build(Answer):
    label: str
    version: str
    base: str | None = Field(
        None, alias="base.label", description="Of a variant: the build that it varies."
    )
    variant: dict[str, Any] = Field(
        description="Environment variables (`env`) and Inductor settings (`inductor`) that it "
        "sets; empty: a plain build."
    )
    git_sha: str = Field(description="Commit of PyTorch; empty: not known.")
    cuda: str = Field(description="Version of CUDA; empty: without, or not known.")
    triton: str = Field(description="Version of Triton; empty: not known.")
    channel: str
    released_on: date | None = Field(description="ISO 8601; null: not known.")


class Track(Answer):
    key: str
    label: str
    kind: str = Field(
        description="What it follows: local, stable, nightly, pinned, versions or test (release "
        "candidates)."
    )
    build: str | None = Field(None, alias="build.label", description="Where it stands now.")


class Benchmark(Schema):
    name: str
    version: int = Field(
        description="Version number of what it does; a new one starts a new segment of its series."
    )
    model: str
    family: str
    size: str
    mode: str
    dtype: str
    shapes: str = Field(description="static, dynamic or bucketed.")
    batch_size: int = Field(description="Number of items in a batch.")
    item: str = Field(description="What throughput counts.")
    default_configs: list[str] = Field(
        description="Names of the configs that a run measures where none is named."
    )
    retired: bool


class Config(Schema):
    name: str
    label: str
    about: str = Field(description="What it does, in a sentence.")
    retired: bool


class Metric(Schema):
    key: str
    label: str
    unit: str = Field(description="Empty for counts and drift; × for ratios.")
    lower_is_better: bool = Field(description="Whether a smaller value is better.")
    threshold_percent: float = Field(description="The smallest change worth reporting, in percent.")
    aggregate: str = Field(
        description="How values of several cases make one: geomean, median, sum or share."
    )
    alerts: bool = Field(description="Whether detection judges it.")
    about: str = Field(description="What it is, in a sentence.")


class SeriesLimit(Answer):
    reason: str = Field(
        description='"wanders": its level moves by itself. "bursts": points stray and come back.'
    )
    percent: float | None = Field(description="Smaller changes are not reported.")
    points: int | None = Field(
        description="Number of points of a new level after which it is reported."
    )


class SeriesNoisier(Answer):
    at: datetime
    percent: float = Field(description="By how much the spread grew.")


class SeriesOut(Schema):
    """A case on a machine and a track in one metric, as the newest build measured it."""

    id: int = Field(description="Number of the series, as other calls take it.")
    benchmark: str = Field(alias="benchmark.name")
    config: str = Field(alias="config.name")
    machine: str = Field(alias="machine.key")
    track: str = Field(alias="track.key")
    metric: str
    unit: str
    lower_is_better: bool = Field(description="Whether a smaller value is better.")
    count: int = Field(description="Number of its points.")
    build: str | None = Field(
        description="The newest build of the track that measured it: the values below are its.",
    )
    processes: int = Field(
        alias="newest_processes", description="Number of processes that passed on it."
    )
    at: datetime | None = Field(
        alias="newest_at", description="When the last job on it was planned."
    )
    value: float | None = Field(
        alias="newest_value",
        description="Geometric mean of its processes, in `unit`; null where the case failed.",
    )
    low: float | None = Field(
        alias="newest_low",
        description="Lower end of the 95% interval of the mean, in `unit`; of a single process "
        "within it.",
    )
    high: float | None = Field(alias="newest_high", description="Upper end of it, in `unit`.")
    status: str = Field(alias="newest_status", description="How the last job on it ended.")
    job: UUID | None = Field(alias="newest_job_id", description="That job.")
    can_show_percent: float | None = Field(
        description="The smallest change in percent that detection shows here in nine of ten "
        "cases; null: not known yet, or the metric is not judged."
    )
    limit: SeriesLimit | None = Field(
        description="Why changes of its level are not reported, or late; null where they are."
    )
    noisier: SeriesNoisier | None = Field(
        description="When its spread grew while its level stayed, if that is news."
    )
    url: str

    @staticmethod
    def resolve_build(row: Series) -> str | None:
        return row.newest_build.label if row.newest_build else None

    @staticmethod
    def resolve_unit(row: Series) -> str:
        return metric_of(row.metric).unit

    @staticmethod
    def resolve_lower_is_better(row: Series) -> bool:
        return metric_of(row.metric).lower_is_better

    @staticmethod
    def resolve_url(row: Series) -> str:
        chosen = {
            "machine": row.machine.key,
            "track": row.track.key,
            "metric": row.metric,
            "config": row.config.name,
        }
        return absolute(f"{reverse('series', args=[row.benchmark.name])}?{urlencode(chosen)}")


class Datum(Schema):
    at: datetime = Field(alias="planned_at")
    build: str = Field(alias="build.label")
    purpose: str
    status: str = Field(description="A case that failed is data: its value is null.")
    value: float | None = Field(
        description="In the unit of the series' metric; null where the case failed."
    )
    low: float | None = Field(
        description="Lower end of the 95% interval within the process, in that unit."
    )
    high: float | None = Field(description="Upper end of it, in that unit.")
    count: int = Field(description="Number of samples that it was made from.")
    job: UUID = Field(alias="job_id")


class Arm(Schema):
    """Raw samples of one arm of a job, in milliseconds per step, in the order taken."""

    arm: str = Field(alias="name", description="eager or compiled.")
    single: bool = Field(description="Steps timed one by one, for percentiles.")
    values: list[float] = Field(description="In milliseconds.")
    order: list[int] | None = Field(
        description="Number of each sample in the interleaved sequence of both arms."
    )


class Counts(Schema):
    """How many jobs are where."""

    total: int = Field(description="Number of jobs.")
    passed: int = Field(description="Number of jobs that passed.")
    failed: int = Field(
        description="Number of jobs that ended with any other status; cancelled ones apart."
    )
    running: int = Field(description="Number of jobs that a worker has now.")
    waiting: int = Field(description="Number of jobs that no worker has yet.")
    cancelled: int = Field(description="Number of jobs that were cancelled.")


class Progress(Answer):
    """How far runs are; the row has it as `progress`."""

    jobs: Counts = Field(alias="progress.counts")
    is_active: bool = Field(alias="progress.is_active")
    seconds_left: float | None = Field(alias="progress.seconds_left")


class Stopped(Schema):
    jobs: int = Field(description="How many jobs it concerned.")
