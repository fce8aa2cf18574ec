"""The inbox of alerts, one alert laid out as an argument, and the figures of both."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from csp.decorators import csp_update
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from dashboard.alerts.core import alert_charts
from dashboard.alerts.selectors import (
    alert_data,
    alert_page,
    alerts,
    facts,
    inbox,
    kernels,
    since_which_build,
    variants,
)
from dashboard.alerts.selectors import code as code_selector
from dashboard.alerts.selectors.alerts import AlertSummary
from dashboard.alerts.services import triage
from dashboard.models import AlertGroup, Confirmation
from dashboard.results.core.kernel_words import ONE_PROFILE
from dashboard.ui.pages import parameters
from dashboard.ui.pages.feed_keys import key_of
from dashboard.ui.pages.figures import figure_response
from dashboard.ui.rows import one

_PAGE_SIZE = 50
_LONGEST_SEARCH = 100  # characters
TRIAGE = "dashboard.change_alertgroup"  # the permission that every act of triage needs
BULK_MOVES = ("acknowledged", "fixed", "wontfix", "invalid")
KEYS = (
    ("j, k", "down and up"),
    ("x", "select, or not"),
    ("Enter", "open"),
    ("a", "acknowledge what is selected"),
    ("f", "to the search of alerts"),
    ("?", "show these shortcuts"),
)
FIRST_FILTERS = ("evidence_state", "workflow_state", "severity", "cause", "assignee")
FILTER_LABELS = {
    "evidence_state": "Evidence",
    "workflow_state": "Status",
    "cause": "Likely cause",
}


class Filter(NamedTuple):
    """A list of choices in the form above the inbox; chosen: empty where it is not set."""

    name: str
    label: str
    choices: Sequence[str]
    chosen: str


def chosen_filters(request: HttpRequest, choices: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The filters, the search and "opened" of the address, by name; empty: not set."""
    words = request.GET.get("q", "")[:_LONGEST_SEARCH]
    since = parameters.one_of(request, "opened", [*inbox.OPENED])
    return parameters.filters(request, choices) | {"q": words, "opened": since}


def listing(request: HttpRequest) -> HttpResponse:
    """The inbox: open groups without improvements, unless the address asks for others; the most
    urgent first, or the newest.
    """
    choices = inbox.choices(request.GET.get("machine", ""), request.GET.get("track", ""))
    chosen = chosen_filters(request, choices)
    groups = inbox.listing(chosen, timezone.now())
    sort = parameters.one_of(request, "sort", ["newest"])
    page = parameters.page(request, groups if sort else inbox.most_urgent_first(groups), _PAGE_SIZE)
    # Its other words, of older links, are those of the two fields
    offered = choices | {"state": [chosen["state"] or alerts.EVERYTHING]}
    # With the viewer's key, where the feed needs one
    feed_query = {**chosen, "key": key_of(request.user)}
    filters = []
    for name in inbox.FILTERS:
        label = FILTER_LABELS.get(name, name.capitalize())
        filters.append(Filter(name, label, offered[name], chosen[name]))
    further = [field for field in filters if field.name not in FIRST_FILTERS]
    context = {
        "page": page,
        "rows": inbox.rows(page.object_list),
        "chosen": chosen,
        "opened": inbox.OPENED,
        "sort": sort,
        "filters": [field for field in filters if field.name in FIRST_FILTERS],
        "further_filters": further,
        "is_further_filtered": any(field.chosen for field in further),
        "tally": alerts.tally(groups),
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
    """One group as an argument: what changed, how sure, the likely cause, since which build."""
    group = one(alert_page.groups(), "alert", pk=pk)
    rows = alerts.of_group(group)
    main = _main(request, rows)
    context: dict[str, Any] = {
        "group": group,
        "sides": alerts.by_direction(rows),
        "rows": rows,
        "standing": sum(not row.alert.is_withdrawn for row in rows),
        "main": main,
        "gain": alerts.gain_of(rows, main),
        "events": alert_page.events(group),
        "confirmation": getattr(group, "confirmation", None),
        "may_triage": request.user.has_perm(TRIAGE),
        "moves": triage.possible(group=group),
        "can_measure_again": alerts.is_measurable(row.alert for row in rows)
        and triage.can_measure_again(group=group),
        "cause_in_words": facts.cause_in_words(group),
        "evidence": alert_page.evidence(group),
        "commit_range": alert_page.commit_range(group),
        "searches": since_which_build.searches(group),
    }
    if main:
        seen = alert_data.around(main.alert)
        command = alert_page.reproduce(main.alert)
        context |= {
            "seen": seen,
            "has_control": alert_data.control_around(main.alert, seen.step) is not None,
            "points": alert_page.points(seen),
            "recovered_with": alert_page.recovered_with(main.alert, seen),
            "command": command,
            "differ_in_settings_alone": variants.differ_in_settings_alone(main.alert),
            "can_bisect": since_which_build.can_bisect(main.alert, command),
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
    return alerts.main_of(rows, request.GET.get("alert", ""))


def change(request: HttpRequest, pk: int) -> HttpResponse:
    """The figure of the change of one alert of the group."""
    main = main_or_404(request, pk)
    seen = alert_data.around(main.alert)
    if seen.line is None:
        return figure_response({"data": [], "layout": {}})
    control = alert_data.control_around(main.alert, seen.step)
    figure = alert_charts.change_figure(seen.line, control, seen.step, main.metric)
    return figure_response(figure)


def pairs(request: HttpRequest, pk: int) -> HttpResponse:
    """The figure of the processes that re-measured one alert of the group."""
    main = main_or_404(request, pk)
    confirmation = Confirmation.objects.filter(group=pk).first()
    if confirmation is None:
        raise Http404(f"Alert {pk} was not measured again: there are no pairs to draw.")
    processes = alert_data.processes(confirmation, main.alert)
    return figure_response(alert_charts.pairs_figure(processes, main.metric))


def code(request: HttpRequest, pk: int) -> HttpResponse:
    """Show how the generated code differs across the change of one alert of the group."""
    main = main_or_404(request, pk)
    code_change = code_selector.change_of(main.alert)
    context = {"group": main.alert.group, "main": main, "code": code_change}
    return render(request, "alerts/code.html", context)


def main_or_404(request: HttpRequest, pk: int) -> AlertSummary:
    main = _main(request, alerts.alerts_of([pk]))
    if main is None:
        raise Http404(f"Alert {pk} has no series to draw.")
    return main
