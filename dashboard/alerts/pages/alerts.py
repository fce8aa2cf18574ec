"""The inbox of alerts, one alert laid out as an argument, and the figures of both."""

from typing import Any

from csp.decorators import csp_update
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse

from dashboard.alerts.core import alert_charts
from dashboard.alerts.selectors import alert_data, alert_page, alerts, facts, kernels, verdicts
from dashboard.alerts.selectors import code as code_selector
from dashboard.alerts.selectors.alerts import AlertSummary
from dashboard.alerts.services import triage
from dashboard.models import AlertGroup, Confirmation
from dashboard.results.core.kernel_words import ONE_PROFILE
from dashboard.ui.pages import parameters
from dashboard.ui.pages.feed_keys import key_of
from dashboard.ui.pages.figures import figure_response

_PAGE_SIZE = 50
TRIAGE = "dashboard.change_alertgroup"  # the permission that every act of triage needs
BULK_MOVES = ("acknowledged", "fixed", "wontfix", "invalid")
KEYS = (
    ("j, k", "down and up"),
    ("x", "choose it, or not"),
    ("Enter", "open it"),
    ("a", "acknowledge what is chosen"),
    ("f", "to the first filter"),
    ("?", "show these keys"),
)


def listing(request: HttpRequest) -> HttpResponse:
    """The inbox: open groups without improvements, unless the address asks for others."""
    choices = alerts.choices(request.GET.get("machine", ""), request.GET.get("track", ""))
    chosen = parameters.filters(request, choices)
    groups = alerts.listing(chosen)
    # Its other words, of older links, are those of the two fields
    offered = choices | {"state": [chosen["state"] or alerts.EVERYTHING]}
    # With the viewer's key, where the feed needs one
    feed_query = {**chosen, "key": key_of(request.user)}
    context = {
        "page": parameters.page(request, alerts.with_counts(groups), _PAGE_SIZE),
        "tally": alerts.tally(groups),
        "filters": [(name, offered[name], chosen[name]) for name in alerts.FILTERS],
        "is_filtered": any(chosen.values()),
        "is_empty_site": not AlertGroup.objects.exists(),
        "may_triage": request.user.has_perm(TRIAGE),
        "moves": BULK_MOVES,
        "keys": KEYS,
        "feed": reverse(
            "alerts_feed", query={name: value for name, value in feed_query.items() if value}
        ),
    }
    return render(request, "alerts/list.html", context)


@csp_update(settings.CHART_POLICY)  # type: ignore[arg-type]  # typed for views without arguments
def show(request: HttpRequest, pk: int) -> HttpResponse:
    """One group as an argument: what changed, how sure, since which build, whose fault."""
    group = get_object_or_404(alert_page.groups(), pk=pk)
    rows = alerts.alerts_of([pk])
    main = _main(request, rows)
    context: dict[str, Any] = {
        "group": group,
        "sides": alerts.by_direction(rows),
        "rows": rows,
        "main": main,
        "events": list(group.events.select_related("by")),
        "confirmation": getattr(group, "confirmation", None),
        "may_triage": request.user.has_perm(TRIAGE),
        "moves": triage.possible(group=group),
        "can_measure_again": bool(rows) and triage.can_measure_again(group=group),
        "cause_in_words": facts.cause_in_words(group),
        "commit_range": alert_page.commit_range(group),
    }
    if main:
        seen = alert_data.around(main.alert)
        context |= {
            "seen": seen,
            "points": alert_page.points(seen),
            "command": alert_page.reproduce(main.alert),
            "has_code": code_selector.sides_of(main.alert, seen) is not None,
            "no_code": code_selector.NOT_KEPT,
            "kernels": kernels.around(main.alert, seen),
            "one_profile": ONE_PROFILE,
            "calls": code_selector.calls_of(main.alert, seen),
        }
    if context["may_triage"]:
        context |= alert_page.for_triage(group, rows, context.get("seen"))
    return render(request, "alerts/alert.html", context)


def _main(request: HttpRequest, rows: list[AlertSummary]) -> AlertSummary | None:
    """The alert that the page draws: the one of the address, else the first; None where none is."""
    key = request.GET.get("alert", "")
    for row in rows:
        if str(row.alert.pk) == key:
            return row
    return rows[0] if rows else None


def change(request: HttpRequest, pk: int) -> HttpResponse:
    """The figure of the change of one alert of the group."""
    main = _main_or_404(request, pk)
    seen = alert_data.around(main.alert)
    if seen.line is None:
        return figure_response({"data": [], "layout": {}})
    figure = alert_charts.change_figure(seen.line, seen.control, seen.step, main.metric)
    return figure_response(figure)


def pairs(request: HttpRequest, pk: int) -> HttpResponse:
    """The figure of the processes that re-measured one alert of the group."""
    main = _main_or_404(request, pk)
    confirmation = get_object_or_404(Confirmation, group=pk)
    processes = alert_data.processes(confirmation, main.alert)
    return figure_response(alert_charts.pairs_figure(processes, main.metric))


def code(request: HttpRequest, pk: int) -> HttpResponse:
    """How the generated code differs across the change of one alert of the group."""
    main = _main_or_404(request, pk)
    code_change = code_selector.change_of(main.alert)
    context = {"group": main.alert.group, "main": main, "code": code_change}
    return render(request, "alerts/code.html", context)


def _main_or_404(request: HttpRequest, pk: int) -> AlertSummary:
    main = _main(request, alerts.alerts_of([pk]))
    if main is None:
        raise Http404(f"Alert {pk} has no series to draw.")
    return main


def quality(request: HttpRequest) -> HttpResponse:
    """What became of the alerts, by week and detector version."""
    context = {"weeks": verdicts.weekly(), "states": verdicts.COUNTED}
    return render(request, "alerts/quality.html", context)
