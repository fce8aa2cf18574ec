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


class Machine(Schema):
    key: str
    label: str
    device_kind: str
    default_size: str = Field(
        description="The size of the benchmarks that a default run measures here."
    )


class Build(Answer):
    label: str
    version: str
    base: str | None = Field(
        None, alias="base.label", description="Of a variant: the build that it varies."
    )
    variant: dict[str, Any]
    git_sha: str
    cuda: str
    triton: str
    channel: str
    released_on: date | None


class Track(Answer):
    key: str
    label: str
    kind: str
    build: str | None = Field(None, alias="build.label", description="Where it stands now.")
    judges_imports: bool = Field(description="Detection judges its imported results.")


class Benchmark(Schema):
    name: str
    version: int
    model: str
    family: str
    size: str
    mode: str
    dtype: str
    shapes: str
    batch_size: int
    item: str = Field(description="What throughput counts.")
    default_configs: list[str]
    retired: bool


class Config(Schema):
    name: str
    label: str
    about: str
    retired: bool


class Metric(Schema):
    key: str
    label: str
    unit: str = Field(description="Empty for counts and drift; × for ratios.")
    lower_is_better: bool
    threshold_percent: float
    aggregate: str
    alerts: bool = Field(description="Whether detection judges it.")
    about: str


class SeriesLimit(Answer):
    reason: str = Field(
        description='"wanders": its level moves by itself. "bursts": points stray and come back.'
    )
    percent: float | None = Field(description="Smaller changes are not reported.")
    points: int | None = Field(description="A new level is reported after so many of its points.")


class SeriesNoisier(Answer):
    at: datetime
    percent: float = Field(description="By how much the spread grew.")


class SeriesOut(Schema):
    """A case on a machine and a track in one metric, with its newest datum."""

    id: int
    benchmark: str = Field(alias="benchmark.name")
    config: str = Field(alias="config.name")
    machine: str = Field(alias="machine.key")
    track: str = Field(alias="track.key")
    metric: str
    unit: str
    lower_is_better: bool
    count: int = Field(description="How many data it has.")
    at: datetime | None = Field(alias="last_at")
    value: float | None = Field(alias="last_value")
    low: float | None = Field(
        alias="last_low", description="Lower end of the 95% interval within the process."
    )
    high: float | None = Field(alias="last_high")
    status: str = Field(alias="last_status")
    job: UUID | None = Field(alias="last_job_id")
    limit: SeriesLimit | None = Field(
        description="Why changes of its level are not reported, or late; null where they are."
    )
    noisier: SeriesNoisier | None = Field(
        description="When its spread grew while its level stayed, if that is news."
    )
    url: str

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
    value: float | None
    low: float | None
    high: float | None
    count: int = Field(description="Samples that it was made from.")
    job: UUID = Field(alias="job_id")


class Arm(Schema):
    """Raw samples of one arm of a job, in milliseconds per step, in the order taken."""

    arm: str = Field(alias="name")
    single: bool = Field(description="Steps timed one by one, for percentiles.")
    values: list[float]
    order: list[int] | None = Field(
        description="Each sample's place in the interleaved sequence of both arms."
    )


class Counts(Schema):
    """How many jobs are where. failed: ended with any status but pass, cancelled ones apart."""

    total: int
    passed: int
    failed: int
    running: int
    waiting: int
    cancelled: int


class Stopped(Schema):
    jobs: int = Field(description="How many jobs it concerned.")
