"""The queue of alerts: what costs most, first."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from dashboard.accounts.selectors import starred_models
from dashboard.alerts.selectors import alerts, inbox
from dashboard.models import AlertGroup
from dashboard.ui.pages import parameters
from dashboard.ui.pages.feed_keys import key_of

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
FIRST_FILTERS = ("machine", "assignee")
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
    """The queue: open groups without improvements, unless the address asks for others; what costs
    most comes first.
    """
    choices = inbox.choices(request.GET.get("machine", ""), request.GET.get("track", ""))
    chosen = chosen_filters(request, choices)
    groups = inbox.listing(chosen, timezone.now())
    queue = inbox.queue(groups, starred_models.of_user(request.user.pk))
    page = parameters.page(request, queue, _PAGE_SIZE)
    rows = list(page.object_list)
    sections = inbox.sections(rows)
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
        "sections": sections,
        "folded": [row for row in rows if row.is_folded],
        "first_cost": sections[0].rows[0].cost.text.removeprefix("+") if sections else "",
        "total": len(queue),
        "number_new": sum(not row.is_folded for row in queue),
        "chosen": chosen,
        "opened": inbox.OPENED,
        "filters": [field for field in filters if field.name in FIRST_FILTERS],
        "further_filters": further,
        "is_further_filtered": any(field.chosen for field in further),
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
