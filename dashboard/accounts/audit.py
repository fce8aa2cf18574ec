"""The audit trail: a middleware that records each request of a person that was not only reading.

In one place and not in each service, so that no page, no admin form and no endpoint of the API can
be forgotten. What the admin changed field by field is in the admin's own log as well.
"""

import re
from collections.abc import Callable
from itertools import islice
from typing import Any

import orjson
from django.contrib.auth.models import User
from django.http import HttpRequest, RawPostDataException
from django.http.response import HttpResponseBase

from dashboard.accounts.lockout import client_address
from dashboard.models import AuditChange

READING = ("GET", "HEAD", "OPTIONS")
# An address of a channel holds its password
SECRET = re.compile("password|token|secret|csrf|url|key", re.IGNORECASE)
MAX_LETTERS = 200  # of a name or a value
MAX_FIELDS = 10
MAX_DOCUMENT_BYTES = 4096  # longer ones are results, which are kept as such


class AuditTrail:
    """Comes after the session's middleware: it has to know who asks."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        if request.method not in READING:
            person = person_of(request)
            # Without a role nobody changes anything: their requests would only fill the disk
            if person is not None and person.get_all_permissions():
                AuditChange.objects.create(
                    by=person,
                    name=person.get_username(),
                    with_token=not request.user.is_authenticated,
                    method=request.method or "",
                    path=request.path[:300],
                    asked=sent_fields(request),
                    status=response.status_code,
                    address=client_address(request),
                )
        return response


def person_of(request: HttpRequest) -> User | None:
    """Return the user who is signed in or sent an API token; None for strangers and workers."""
    for caller in (getattr(request, "auth", None), request.user):
        if isinstance(caller, User):
            return caller
    return None


def sent_fields(request: HttpRequest) -> dict[str, Any]:
    """The fields of the form or of the short JSON document that was sent, secrets left out."""
    sent: dict[str, Any] = {}
    if request.content_type == "application/json":
        sent = _document(request)
    else:
        for name, values in request.POST.lists():
            sent[name] = values[0] if len(values) == 1 else values
    fields = {}
    for name, value in sent.items():
        if value and not SECRET.search(name):
            fields[storable(name)] = storable(str(value))
    if len(fields) > MAX_FIELDS:
        first = dict(islice(fields.items(), MAX_FIELDS))
        return {**first, "…": f"{len(fields) - MAX_FIELDS} more"}
    return fields


def storable(text: str) -> str:
    """The first letters, without the NULs that Postgres cannot store."""
    return text[:MAX_LETTERS].replace("\x00", "\ufffd")


def _document(request: HttpRequest) -> dict[str, Any]:
    try:
        if int(request.headers.get("Content-Length") or 0) > MAX_DOCUMENT_BYTES:
            return {}
        document = orjson.loads(request.body)
    except (RawPostDataException, orjson.JSONDecodeError):  # read as a stream, or not JSON
        return {}
    return document if isinstance(document, dict) else {}
