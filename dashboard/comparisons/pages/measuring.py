"""Parts that the pages of comparisons and searches share while they are measured."""

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest

from dashboard.language.reading import read_numbers
from dashboard.language.wording import plural

may_add_runs = permission_required("dashboard.add_run", raise_exception=True)
may_change_runs = permission_required("dashboard.change_run", raise_exception=True)


def asks_for_live_part(request: HttpRequest) -> bool:
    """Test whether htmx asks again; with nothing measured any more, the page has more to show."""
    return "HX-Request" in request.headers and request.headers.get("HX-Target") == "live"


def requested_repeats(request: HttpRequest) -> int:
    """0 for what is not a number, which the services refuse."""
    return sum(read_numbers([request.POST.get("repeats", "")]))


def say_cancelled(request: HttpRequest, jobs: int) -> None:
    messages.success(
        request, f"Cancelled {plural(jobs, 'job')}. A running one stops within seconds."
    )
