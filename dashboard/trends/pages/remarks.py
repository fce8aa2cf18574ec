"""The form with which anyone signed in puts a remark on a trend, and takes it away again."""

from datetime import datetime, timedelta

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from dashboard.language.errors import ActionNotAllowed
from dashboard.language.reading import read_moment
from dashboard.models import Annotation, Benchmark
from dashboard.trends.services import remarks as service
from dashboard.ui.pages.parameters import own_address
from dashboard.ui.rows import one

_DELETE = "dashboard.delete_annotation"
_NOON = timedelta(hours=12)
_DAY_LETTERS = len("2026-12-31")


@require_POST
@login_required
def add(request: HttpRequest, name: str) -> HttpResponse:
    """A remark on the trend of a benchmark."""
    benchmark = one(Benchmark.objects.all(), "benchmark", name=name)
    at = _moment(request.POST.get("at", ""))
    try:
        service.add_remark(
            benchmark=benchmark, text=request.POST.get("text", ""), at=at, by=request.user
        )
        messages.success(request, "The remark is on the trend.")
    except ActionNotAllowed as refusal:
        messages.error(request, str(refusal))
    return redirect(_back(request, name))


def _moment(text: str) -> datetime | None:
    """The moment of a date with a time, or noon of a date, in the site's zone; None for neither."""
    try:
        moment = read_moment(text, timezone.get_current_timezone())
    except ValueError:
        return None
    return moment + _NOON if len(text) == _DAY_LETTERS else moment


@require_POST
@login_required
def remove(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Take a remark away: one's own, or with the permission anybody's."""
    remark = one(Annotation.objects.filter(benchmark__name=name), "remark", pk=pk)
    if remark.by_id == request.user.pk or request.user.has_perm(_DELETE):
        remark.delete()
        messages.success(request, "The remark is gone.")
    else:
        messages.error(
            request,
            "Only who wrote a remark, or somebody who may delete annotations, takes it away.",
        )
    return redirect(_back(request, name))


def _back(request: HttpRequest, name: str) -> str:
    return own_address(request.POST.get("back", ""), reverse("series", args=[name]))
