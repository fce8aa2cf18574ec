"""The page of one change, whatever leads to it: an alert, a row, a cell, a step, two jobs."""

from typing import Any

from csp.decorators import csp_update
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from dashboard.alerts.core import alert_charts
from dashboard.alerts.core.ready_issue import address as issue_address
from dashboard.alerts.core.report_files import LIMIT_MIB
from dashboard.alerts.selectors import alert_data, alert_page, alerts, facts
from dashboard.alerts.selectors.alerts import AlertSummary
from dashboard.alerts.services import triage
from dashboard.changes.pages import chosen
from dashboard.changes.selectors import alert_change, compared_change
from dashboard.changes.selectors import tabs as tab_content
from dashboard.changes.selectors.reports import report_of
from dashboard.changes.selectors.shown_change import ShownChange
from dashboard.results.core.kernel_words import ONE_PROFILE
from dashboard.ui.pages.figures import figure_response

TRIAGE = "dashboard.change_alertgroup"  # the permission that every act of triage needs


@csp_update(settings.CHART_POLICY)  # type: ignore[arg-type]  # typed for views without arguments
def alert(request: HttpRequest, pk: int, tab: str = "proof") -> HttpResponse:
    """A group by one of its changes, with triage."""
    chosen.check_tab(tab)
    group, rows = chosen.alert_rows(pk)
    main = alerts.main_of(rows, request.GET.get("alert", ""))
    context: dict[str, Any] = {
        "group": group,
        "rows": rows,
        "sides": alerts.by_direction(rows),
        "standing": sum(not row.alert.is_withdrawn for row in rows),
        "main": main,
        "confirmation": getattr(group, "confirmation", None),
        "cause_in_words": facts.cause_in_words(group),
        "evidence": alert_page.evidence(group),
        "commit_range": alert_page.commit_range(group),
        "events": alert_page.events(group),
        "may_triage": request.user.has_perm(TRIAGE),
        "moves": triage.possible(group=group),
        "can_measure_again": alerts.is_measurable(row.alert for row in rows)
        and triage.can_measure_again(group=group),
    }
    shown = alert_change.shown(group, rows, main, tab) if main else None
    if context["may_triage"]:
        seen = shown.details.get("seen") if shown else None
        context |= alert_page.for_triage(group, rows, seen)
    if shown is None:
        if tab != "proof":
            raise Http404(f"Alert {pk} has no series: there is nothing of it to show.")
        return render(request, "changes/change.html", context)
    return _page(request, shown, tab, main, context)


@csp_update(settings.CHART_POLICY)
def show(request: HttpRequest, tab: str = "proof") -> HttpResponse:
    """A case of two builds, or two jobs. What an alert is about is shown with it."""
    chosen.check_tab(tab)
    if not chosen.is_of_case(request):
        shown = chosen.two_jobs(request)
        if shown is None:
            return render(request, "changes/nothing.html")
        return _page(request, shown, tab, None, {})
    compared, row = chosen.compared_row(request)
    if alert_of_row := compared_change.alert_of(compared, row):
        address = chosen.alert_address(alert_of_row.pk, alert_of_row.group_id, tab)
        return redirect(address)
    return _page(request, compared_change.shown(compared, row), tab, None, {})


def _page(
    request: HttpRequest,
    shown: ShownChange,
    tab: str,
    main: AlertSummary | None,
    context: dict[str, Any],
) -> HttpResponse:
    group = context.get("group")
    tabs = chosen.tabs(request, shown, tab, group.pk if group else None)
    of_tab = tab_content.context(
        shown, tab, request.GET.get("at", ""), main.alert if main else None
    )
    if tab == "report":
        report = report_of(shown, main)
        of_tab = {
            "report": report,
            "address": issue_address(report.issue, settings.ISSUE_REPOSITORY),
            "repository": settings.ISSUE_REPOSITORY,
            "limit_mib": LIMIT_MIB,
            "follows": bool(settings.GITHUB_TOKEN),
        }
    page = {"shown": shown, "tab": tab, "tabs": tabs, "one_profile": ONE_PROFILE, **shown.details}
    return render(request, "changes/change.html", {**context, **page, **of_tab})


def trend(request: HttpRequest, pk: int) -> HttpResponse:
    """The figure of the points around the change of one alert of the group."""
    main = chosen.main_or_404(request, pk)
    seen = alert_data.around(main.alert)
    if seen.line is None:
        return figure_response({"data": [], "layout": {}})
    control = alert_data.control_around(main.alert, seen.step)
    figure = alert_charts.change_figure(seen.line, control, seen.step, main.metric)
    return figure_response(figure)
