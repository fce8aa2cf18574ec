"""What was said about a series, as its page shows it; and the form with which anyone signed in says
more.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from dashboard.language.errors import ActionNotAllowed
from dashboard.models import Annotation, Benchmark, Series
from dashboard.results.core.mark_charts import Mark, MarkedLine
from dashboard.trends.selectors.marks import AlertMark, Marks
from dashboard.trends.services import remarks as service
from dashboard.ui.charts import ChartLine

_DELETE = "dashboard.delete_annotation"


def marked(lines: Sequence[ChartLine], series: Sequence[Series], said: Marks) -> list[MarkedLine]:
    """Each line with the alerts and invalid points of its series."""
    keys = {one.config.name: one.pk for one in series}
    by_series: dict[int, list[Mark]] = {}
    for alert in said.alerts:
        by_series.setdefault(alert.series, []).append(_at(alert))
    return [
        MarkedLine(line, by_series.get(keys[line.name], []), said.invalid.get(keys[line.name], {}))
        for line in lines
    ]


def _at(alert: AlertMark) -> Mark:
    told = alert.change.text if alert.change else "status changed"
    text = f"{told}<br>{alert.state.replace('_', ' ')}"
    return Mark(
        _ms(alert.at), text, reverse("alert", args=[alert.group]), alert.direction != "improvement"
    )


def remarks(said: Marks) -> list[Mark]:
    return [Mark(_ms(remark.at), remark.text) for remark in said.remarks]


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)


@require_POST
@login_required
def add(request: HttpRequest, name: str) -> HttpResponse:
    """A remark on the trend of a benchmark."""
    benchmark = get_object_or_404(Benchmark, name=name)
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
    """The moment of a date or of a date with a time, in the site's zone; None for what is
    neither.
    """
    try:
        found = parse_datetime(text)
        day = parse_date(text) if found is None else None
    except ValueError:
        return None
    if day is not None:
        found = datetime.combine(day, datetime.min.time()) + timedelta(hours=12)
    if found is None:
        return None
    return timezone.make_aware(found) if timezone.is_naive(found) else found


@require_POST
@login_required
def remove(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Take a remark away: one's own, or with the permission anybody's."""
    remark = get_object_or_404(Annotation, pk=pk, benchmark__name=name)
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
    back = request.POST.get("back", "")
    return (
        back
        if url_has_allowed_host_and_scheme(back, allowed_hosts=None)
        else reverse("series", args=[name])
    )
