"""The trend of one benchmark as a page. series_data.py has its figures."""

from csp.decorators import csp_update
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.trends.pages.series_selection import chart_options, select
from dashboard.trends.selectors.series_page import series_page
from dashboard.ui.series_scales import SCALES


@csp_update(settings.CHART_POLICY)  # type: ignore[arg-type]  # typed for views without arguments
def show(request: HttpRequest, name: str) -> HttpResponse:
    """The newest data in words and as a table; the figure comes in a second request."""
    selection = select(request, name)
    context = {
        "selection": selection,
        "options": chart_options(request, selection.metric),
        "scales": SCALES,
        **series_page(selection, more_rows="rows" in request.GET),
    }
    return render(request, "trends/series.html", context)
