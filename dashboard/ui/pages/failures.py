"""Pages that say what the site cannot do; without a query: the database may be missing."""

import sys

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import loader
from django.views.defaults import bad_request, server_error

RETRY_AFTER_S = 5
RETRY_HEADERS = {"Retry-After": str(RETRY_AFTER_S)}
# What Postgres or the way to it says while it cannot be used: connection lost or refused (no code,
# or class 08), too many connections, no room on its disk (53), shutting down or starting (57P).
NOT_NOW = ("08", "53", "57P")
DATABASE = "The database does not answer"
WHAT = (
    "Pages come back by themselves as soon as it does: reload in a moment. Nothing is lost; "
    "workers go on measuring and keep their results until the site takes them. "
    "/readyz tells what is missing."
)
TOO_LARGE = "The body has more than {:.1f} MiB, which is the most that this call takes."
MISTAKE = "The site made a mistake. Its log says which; tell an administrator if it stays."
NOT_UNDERSTOOD = (
    "The site did not understand this request. Is the host in its address one of ALLOWED_HOSTS?"
)


def not_understood(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler400, for programs as JSON: a body over the limit, a host that is not ours."""
    if not request.path.startswith("/api/"):
        return bad_request(request, exception)
    if isinstance(exception, RequestDataTooBig):
        detail = TOO_LARGE.format(settings.DATA_UPLOAD_MAX_MEMORY_SIZE / 2**20)
        return JsonResponse({"detail": detail}, status=413)
    return JsonResponse({"detail": NOT_UNDERSTOOD}, status=400)


def unavailable(headline: str, what: str) -> HttpResponse:
    """A page with the status 503: what is missing now, and what that means."""
    content = loader.get_template("503.html").render({"headline": headline, "what": what})
    return HttpResponse(content, status=503, headers=RETRY_HEADERS)


def failed(request: HttpRequest) -> HttpResponse:
    """Django's handler500: 503 where it is the database that is missing, for programs as JSON."""
    error = sys.exception()
    of_program = request.path.startswith("/api/")
    if not (isinstance(error, OperationalError | InterfaceError) and is_unreachable(error)):
        return (
            JsonResponse({"detail": MISTAKE}, status=500) if of_program else server_error(request)
        )
    if of_program:
        detail = f"{DATABASE}. Send this again in {RETRY_AFTER_S} seconds."
        return JsonResponse({"detail": detail}, status=503, headers=RETRY_HEADERS)
    return unavailable(DATABASE, WHAT)


def is_unreachable(error: Exception) -> bool:
    """Test whether a database error means an absent server, rather than a wrong query."""
    code = getattr(error.__cause__, "sqlstate", None)
    return code is None or code.startswith(NOT_NOW)
