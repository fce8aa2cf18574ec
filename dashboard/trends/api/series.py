"""Series, their data, where they changed, and figures of them."""

from typing import Annotated

from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse
from ninja import Field, FilterLookup, FilterSchema, Query, Router, Schema
from ninja.pagination import paginate

from dashboard.accounts.access import READ
from dashboard.alerts.selectors import alerts
from dashboard.alerts.selectors.alerts import AlertSummary
from dashboard.catalog.core.plan import require_known
from dashboard.language.metrics import METRICS
from dashboard.models import Datum, Purpose, Series, Status
from dashboard.trends.pages import series_data
from dashboard.ui.api import schemas
from dashboard.ui.api.paging import MOST, Pages
from dashboard.ui.api.parameters import Moment, Name, Text
from dashboard.ui.rows import one

router = Router(auth=READ, tags=["series"])


class SeriesFilter(FilterSchema):
    benchmark: Annotated[Name | None, FilterLookup("benchmark__name")] = None
    model: Annotated[Name | None, FilterLookup("benchmark__model")] = None
    family: Annotated[Name | None, FilterLookup("benchmark__family")] = None
    mode: Annotated[Name | None, FilterLookup("benchmark__mode")] = None
    config: Annotated[Name | None, FilterLookup("config__name")] = None
    machine: Annotated[Name | None, FilterLookup("machine__key")] = None
    track: Annotated[Name | None, FilterLookup("track__key")] = None
    metric: Name | None = None


class DataFilter(FilterSchema):
    since: Annotated[Moment | None, FilterLookup("planned_at__gte")] = None
    until: Annotated[Moment | None, FilterLookup("planned_at__lt")] = None
    build: Annotated[Name | None, FilterLookup("build__label")] = None
    purpose: Purpose | None = None
    status: Status | None = None


class SeriesChange(schemas.DetectedChange):
    """Where a series changed its level, by an alert that stands: new minus base, once it is
    confirmed as the confirmation measured it.
    """

    alert: int = Field(alias="alert.group_id", description="Number of the alert.")
    base: str | None = Field(
        None, alias="alert.base.label", description="The last build without the change."
    )
    new: str | None = Field(
        None, alias="alert.new.label", description="The first build with the change."
    )
    evidence_state: str = Field(alias="alert.group.evidence_state")


class FigureChoice(Schema):
    metric: Name | None = None
    config: list[Name] = []
    machine: Name | None = None
    track: Name | None = None
    second: Name | None = Field(None, description="Key of another metric, on an axis of its own.")
    begin: Text = Field("", alias="from", description="From then on, ISO 8601.")
    end: Text = Field("", alias="to", description="Up to then, ISO 8601.")
    axis: Text = Field("", description="release: by releases, not by time.")
    scale: Text = Field(
        "", description="How values are drawn: relative (in percent of where they begin) or log."
    )
    layout: Text = Field("", description="multiples: each config in a chart of its own.")
    samples: Text | None = Field(None, description="With any value: raw samples are drawn, too.")
    legend: Text = Field("", description="none: without a legend.")


@router.get("series", response=list[schemas.SeriesOut])
@paginate(Pages, ordering=("pk",))
def listing(request: HttpRequest, chosen: Query[SeriesFilter]) -> QuerySet[Series]:
    """Series that have data, each as its newest build measured it."""
    return chosen.filter(_series().filter(count__gt=0))


@router.get("series/{int:pk}", response=schemas.SeriesOut)
def show(request: HttpRequest, pk: int) -> Series:
    """One series, as its newest build measured it."""
    return one(_series(), "series", pk=pk)


@router.get("series/{int:pk}/data", response=list[schemas.Datum])
@paginate(Pages, ordering=("planned_at", "job_id"), page_size=MOST)
def data(request: HttpRequest, pk: int, chosen: Query[DataFilter]) -> QuerySet[Datum]:
    """Every datum of a series, the oldest first. A case that failed is there, without a value."""
    return chosen.filter(one(_series(), "series", pk=pk).data.select_related("build"))


@router.get("series/{int:pk}/changes", response=list[SeriesChange])
def changes(request: HttpRequest, pk: int) -> list[AlertSummary]:
    """Where a series changed its level, the oldest change first; none: no change was detected that
    still stands. Smaller changes than `can_show_percent` of the series may have been missed.
    """
    return alerts.changes_of(one(_series(), "series", pk=pk).pk)


@router.get("benchmarks/{name}/figure")
def figure(request: HttpRequest, name: str, chosen: Query[FigureChoice]) -> HttpResponse:
    """The trend of a benchmark's configs as its page draws it: a Plotly figure, `{"data": [traces],
    "layout": {…}}`.
    """
    for metric in filter(None, (chosen.metric, chosen.second)):
        require_known("metric", [metric], list(METRICS))
    return series_data.data(request, name)


def _series() -> QuerySet[Series]:
    related = Series.objects.select_related(
        "benchmark", "config", "machine", "track", "newest_build"
    )
    return related.annotate(
        limit=F("detector__state__limit"),
        noisier=F("detector__state__noisier"),
        can_show_percent=F("detector__can_show_percent"),
    )
