"""The change that an address chooses."""

from collections.abc import Sequence

from django.http import Http404, HttpRequest
from django.urls import reverse

from dashboard.alerts.selectors import alert_page, alerts
from dashboard.alerts.selectors.alerts import AlertSummary
from dashboard.alerts.selectors.reports import NOT_OURS
from dashboard.changes.selectors import compared_change, job_change
from dashboard.changes.selectors.compared_change import Compared
from dashboard.changes.selectors.shown_change import ShownChange
from dashboard.changes.selectors.tabs import TABS
from dashboard.comparisons.core.tables import ComparisonRow
from dashboard.comparisons.selectors import comparisons
from dashboard.comparisons.selectors.side_choice import NotMeasuredError, RequestedSide
from dashboard.language.metrics import METRICS
from dashboard.models import AlertGroup
from dashboard.results.selectors import jobs
from dashboard.ui.rows import one
from dashboard.ui.templatetags.compilewatch import address

_SIDE = ("base", "machine", "track", "config")
_OURS = ("reproduce", "report")
Tab = tuple[str, str, bool]


def check_tab(tab: str) -> None:
    if tab not in TABS:
        raise Http404(f"A change has no part “{tab[:60]}”: {', '.join(TABS)}.")


def alert_rows(pk: int) -> tuple[AlertGroup, list[AlertSummary]]:
    group = one(alert_page.groups(), "alert", pk=pk)
    return group, alerts.of_group(group)


def main_or_404(request: HttpRequest, pk: int) -> AlertSummary:
    """The alert of the group that the address names, else its first one."""
    main = alerts.main_of(alerts.alerts_of([pk]), request.GET.get("alert", ""))
    if main is None:
        raise Http404(f"Alert {pk} has no series to draw.")
    return main


def is_of_case(request: HttpRequest) -> bool:
    """Test whether the address names a case of two sides, else two jobs."""
    return not {"case", "model"}.isdisjoint(request.GET)


def two_jobs(request: HttpRequest) -> ShownChange | None:
    """Change between two jobs; None where the address does not name two that are kept."""
    pair = jobs.pair(request.GET.getlist("job"), by_age=request.GET.get("by") == "age")
    chosen = request.GET.get("metric") or request.GET.get("chosen", "")
    return job_change.shown(pair, METRICS.get(chosen)) if len(pair) == 2 else None


def compared_row(request: HttpRequest) -> tuple[Compared, ComparisonRow]:
    """The row of a comparison that the address names, by its case or by a model and its mode.

    Raises Http404.
    """
    case, metric = request.GET.get("case", ""), request.GET.get("metric", "device_ms")
    model = request.GET.get("model", "")
    if metric not in METRICS:
        raise Http404(f"There is no metric “{metric[:60]}”.")
    if uuid := request.GET.get("comparison"):
        comparison = one(comparisons.listing(), "comparison", uuid=uuid)
        compared = compared_change.of_comparison(comparison, METRICS[metric])
    else:
        base = RequestedSide(*(request.GET.get(name, "") for name in _SIDE))
        other = (request.GET.get(f"new_{name}") or request.GET.get(name, "") for name in _SIDE[1:])
        new = RequestedSide(request.GET.get("new", ""), *other)
        try:
            choice = compared_change.of_builds(base, new, METRICS[metric])
        except NotMeasuredError as error:
            raise Http404(str(error)) from None
        if choice is None:
            raise Http404("Fewer than two builds were measured: there is nothing to compare.")
        compared = choice
    row = compared.row(metric, case)
    if not case:
        row = compared.weightiest(model, request.GET.get("mode", "inference"))
    if row is None:
        label, name = METRICS[metric].label.lower(), (case or model)[:200]
        raise Http404(f"No pair of sides measured {label} of “{name}”.")
    return compared, row


def tabs(
    request: HttpRequest, shown: ShownChange, current: str, pk: int | None = None
) -> Sequence[Tab]:
    """(label, address, is it the current one) of each tab, with what the address chooses.

    Raises Http404 for one that the change does not have: what another system measured is neither
    repeated here nor reported to PyTorch.
    """
    names = [tab for tab in TABS if not (shown.subject.is_imported and tab in _OURS)]
    if current not in names:
        raise Http404(f"A change has no part “{current[:60]}” here. {NOT_OURS}")
    query = request.GET.copy()
    query.pop("at", None)
    name, args = ("alert", [pk]) if pk else ("change", [])
    links = []
    for tab in names:
        if tab == "proof":
            link = address(name, *args, query=query.urlencode())
        else:
            link = address(f"{name}_tab", *args, tab, query=query.urlencode())
        links.append((TABS[tab], link, tab == current))
    return links


def alert_address(row_alert: int, group: int, tab: str) -> str:
    """Address of the change of an alert."""
    if tab == "proof":
        return f"{reverse('alert', args=[group])}?alert={row_alert}"
    return f"{reverse('alert_tab', args=[group, tab])}?alert={row_alert}"
