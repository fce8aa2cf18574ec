"""The text that the site takes: what Postgres can store."""

from collections.abc import Callable
from typing import Any

import structlog
from django.core.exceptions import BadRequest, FieldDoesNotExist, FieldError
from django.core.paginator import InvalidPage
from django.db import DataError, ProgrammingError
from django.http import HttpRequest
from django.http.response import HttpResponseBase, JsonResponse
from django.views.defaults import bad_request

from dashboard.site.admin_pages import is_of_the_admin

# What Django's admin makes of a filter or a field that somebody wrote into an address
FILTER_ERRORS = (
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    ProgrammingError,
    FieldError,
    FieldDoesNotExist,
    InvalidPage,
)
NOT_STORABLE = "A value in this request is longer or larger than what can be stored."

logger = structlog.get_logger(__name__)


class StorableText:
    """400 for what Postgres refuses, whichever page or form it was sent to.

    A NUL in the address or in a form is refused before anything looks at it (the API's parser does
    the same for documents). A value that no column holds is found by the database; a filter that
    somebody wrote into an address of the admin, by Django.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if "\x00" in request.path or has_nul(request.GET):
            return refusal(request, BadRequest("The address has a NUL character in it."))
        return self._get_response(request)

    def process_view(self, request: HttpRequest, *_: Any) -> None:
        is_form = request.method == "POST" and not request.path.startswith("/api/")
        if is_form and has_nul(request.POST):
            raise BadRequest("The form has a NUL character in it.")

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponseBase | None:
        is_written_by_hand = request.GET or "_to_field" in request.POST
        if is_of_the_admin(request) and is_written_by_hand:
            refused = isinstance(error, (DataError, *FILTER_ERRORS))
        else:
            refused = isinstance(error, DataError)
        if not refused:
            return None
        logger.warning("value cannot be stored", path=request.path, exc_info=error)
        return refusal(request, BadRequest(NOT_STORABLE))


def refusal(request: HttpRequest, why: BadRequest) -> HttpResponseBase:
    """400 as a page, and for programs as the API's 422."""
    if request.path.startswith("/api/"):
        return JsonResponse({"detail": str(why)}, status=422)
    return bad_request(request, why)


def has_nul(fields: Any) -> bool:
    """Test whether a name or a value of a form or query has a NUL."""
    texts: list[str] = []
    for name, values in fields.lists():
        texts += [name, *values]
    return any("\x00" in text for text in texts)
