"""Results from machines that no worker of this site runs on: posted, taken in as files are."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from ninja import Query, Router, Schema
from ninja.errors import HttpError

from dashboard.api.access import POST_RESULTS
from dashboard.api.asked import Name, Text
from dashboard.api.worker import read_body
from dashboard.result_format import unpack
from dashboard.services.imports import Source, import_results

router = Router(tags=["results"])
LINES = "application/x-ndjson"


class Where(Schema):
    """machine: key; empty: from the GPU's or CPU's name in each result. dry_run: check and count, change nothing."""

    machine: Text = ""
    track: Name = "import"
    label: Text = ""
    dry_run: bool = False


class Refusal(Schema):
    source: str
    reason: str


class Taken(Schema):
    """known: were here already. Posting the same results twice changes nothing."""

    added: int
    known: int
    refused: list[Refusal]


@router.post("results", response=Taken, auth=POST_RESULTS)
def post(request: HttpRequest, where: Query[Where]) -> dict[str, Any]:
    """Take in one result.v1 document, or many, one a line, as `application/x-ndjson`; plain or gzip."""
    body = read_body(request, settings.RESULT_LIMIT_BYTES)
    found = import_results(sources=_sources(body, request.content_type or ""), **where.model_dump())
    if found.refused and not found.added and not found.known:
        told = "; ".join(f"{source}: {reason}" for source, reason in found.refused[:5])
        raise HttpError(422, f"Nothing could be taken in. {told}")
    refused = [{"source": source, "reason": reason} for source, reason in found.refused]
    return {"added": found.added, "known": found.known, "refused": refused}


def _sources(body: bytes, content_type: str) -> Iterator[Source]:
    if content_type != LINES:
        yield Source("body", body)
        return
    for number, line in enumerate(unpack(body, settings.RESULT_LIMIT_BYTES).splitlines(), start=1):
        if line.strip():
            yield Source(f"body, line {number}", line)
