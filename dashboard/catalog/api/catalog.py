"""What there is: machines, builds, tracks, benchmarks, configs, metrics."""

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from ninja import FilterSchema, Query, Router
from ninja.pagination import paginate

from dashboard import models
from dashboard.accounts.access import READ
from dashboard.language.metrics import METRICS
from dashboard.models import Benchmark, TorchBuild
from dashboard.ui.api import schemas
from dashboard.ui.api.paging import Pages
from dashboard.ui.api.parameters import Name
from dashboard.ui.rows import one

router = Router(auth=READ, tags=["catalog"])


class BuildFilter(FilterSchema):
    version: Name | None = None
    channel: TorchBuild.Channel | None = None


class BenchmarkFilter(FilterSchema):
    model: Name | None = None
    family: Name | None = None
    size: Name | None = None
    mode: Name | None = None
    dtype: Name | None = None
    retired: bool | None = None


@router.get("machines", response=list[schemas.Machine])
@paginate(Pages, ordering=("key",))
def machines(request: HttpRequest) -> QuerySet[Any]:
    """Classes of identical hardware, without hidden ones."""
    return models.Machine.objects.filter(hidden=False)


@router.get("builds", response=list[schemas.Build])
@paginate(Pages)
def builds(request: HttpRequest, chosen: Query[BuildFilter]) -> QuerySet[Any]:
    """Torch builds, the newest first."""
    return chosen.filter(TorchBuild.objects.select_related("base"))


@router.get("builds/{label}", response=schemas.Build)
def build(request: HttpRequest, label: str) -> TorchBuild:
    """One torch build by its label, as 2.13.0+cpu."""
    return one(TorchBuild.objects.select_related("base"), "torch build", label=label)


@router.get("tracks", response=list[schemas.Track])
@paginate(Pages, ordering=("key",))
def tracks(request: HttpRequest) -> QuerySet[Any]:
    """Streams of builds that are followed, without hidden ones."""
    return models.Track.objects.filter(hidden=False).select_related("build")


@router.get("benchmarks", response=list[schemas.Benchmark])
@paginate(Pages, ordering=("name",))
def benchmarks(request: HttpRequest, chosen: Query[BenchmarkFilter]) -> QuerySet[Any]:
    """What can be measured, and what was (`retired`: no worker brings it any more)."""
    return chosen.filter(Benchmark.objects.all())


@router.get("benchmarks/{name}", response=schemas.Benchmark)
def benchmark(request: HttpRequest, name: str) -> Benchmark:
    """One benchmark."""
    return one(Benchmark.objects.all(), "benchmark", name=name)


@router.get("configs", response=list[schemas.Config])
@paginate(Pages, ordering=("name",))
def configs(request: HttpRequest) -> QuerySet[Any]:
    """Named ways to execute a benchmark."""
    return models.Config.objects.all()


@router.get("metrics", response=list[schemas.Metric])
def metrics(request: HttpRequest) -> Iterable[Any]:
    """Every metric with its unit and direction, in the order of the pages."""
    return METRICS.values()
