"""The triage report as a page and as Markdown."""

from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from dashboard.alerts.core.triage_report import RATES_NOTE, TriageReport, markdown
from dashboard.alerts.selectors.triage_report import DAYS, MOST_DAYS, build_report

PERIODS = {1: "last 24 h", 7: "last 7 days", 30: "last 30 days", MOST_DAYS: "last 3 months"}


def show(request: HttpRequest) -> HttpResponse:
    days = _days(request)
    context = {
        "report": _report(days),
        "days": days,
        "periods": PERIODS,
        "rates_note": RATES_NOTE,
    }
    return render(request, "alerts/triage_report.html", context)


def as_markdown(request: HttpRequest) -> HttpResponse:
    text = markdown(_report(_days(request)), settings.SITE_URL)
    return HttpResponse(text, content_type="text/markdown; charset=utf-8")


def _days(request: HttpRequest) -> int:
    """Of PERIODS, by the address; a week where it names none."""
    named = request.GET.get("days", "")
    return next((days for days in PERIODS if str(days) == named), DAYS)


def _report(days: int) -> TriageReport:
    now = timezone.now()
    return build_report(now - timedelta(days=days), now)
