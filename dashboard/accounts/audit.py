"""The audit trail: a middleware that notes each request of a person that was not only reading.

In one place and not in each service, so that no page, no admin form and no endpoint of the API can
be forgotten. What the admin changed field by field is in its own log, beside it.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import orjson
from django.contrib.auth.models import User
from django.http import HttpRequest, RawPostDataException
from django.http.response import HttpResponseBase

from dashboard.models import Change

READING = ("GET", "HEAD", "OPTIONS", "TRACE")
# An address of a channel holds its password
SECRET = re.compile("password|token|secret|csrf|url|key", re.IGNORECASE)
LONGEST_VALUE = 200
LONGEST_DOCUMENT = 4096  # bytes: longer ones are results, which are kept as such


class AuditTrail:
    """Comes after the session's middleware: it has to know who asks."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._answer = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._answer(request)
        person = None if request.method in READING else person_of(request)
        if person is not None:
            note(request, person, response.status_code)
        return response


def person_of(request: HttpRequest) -> User | None:
    """Who is signed in or sent a token of the API; None for strangers and workers."""
    asked = (getattr(request, "auth", None), request.user)
    return next((one for one in asked if isinstance(one, User)), None)


def note(request: HttpRequest, person: User, status: int) -> None:
    Change.objects.create(
        by=person,
        name=person.get_username(),
        with_token=not request.user.is_authenticated,
        method=request.method or "",
        path=storable(request.path[:300]),
        asked=asked_of(request),
        status=status,
        address=request.META.get("REMOTE_ADDR") or None,
    )


def asked_of(request: HttpRequest) -> dict[str, Any]:
    """The fields of the form or of the short JSON document that was sent, secrets left out."""
    if request.content_type == "application/json":
        sent = _document(request)
    else:
        sent = {
            name: values[0] if len(values) == 1 else values for name, values in request.POST.lists()
        }
    told = {
        name: str(value)[:LONGEST_VALUE]
        for name, value in sent.items()
        if value and not SECRET.search(name)
    }
    return {storable(name): storable(value) for name, value in told.items()}


def storable(text: str) -> str:
    """Without the NULs that Postgres cannot store."""
    return text.replace("\x00", "\ufffd")


def _document(request: HttpRequest) -> Mapping[str, Any]:
    try:
        found = orjson.loads(request.body) if len(request.body) <= LONGEST_DOCUMENT else {}
    except (RawPostDataException, orjson.JSONDecodeError):  # read as a stream, or no JSON
        return {}
    return found if isinstance(found, dict) else {}
