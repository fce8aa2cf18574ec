"""Results from machines that no worker of this site runs on: posted, taken in as files are."""

from typing import Annotated, Any

from django.conf import settings
from django.http import HttpRequest
from ninja import Field, Query, Router, Schema
from ninja.errors import HttpError
from pydantic import AfterValidator

from dashboard.accounts.access import POST_RESULTS
from dashboard.results.api.worker import read_body
from dashboard.results.formats import Hints, parse_metric_mapping
from dashboard.results.services.imports import ImportSource, import_results
from dashboard.ui.api.parameters import Moment, Name, Text

router = Router(tags=["results"])


def _understood(text: str) -> str:
    parse_metric_mapping(text)
    return text


class ImportTarget(Schema):
    """Where results belong, and, of other tools' files, what they do not say themselves."""

    file: Text = Field(
        "", description="Its name, which says how the CSV files of PyTorch's runners were made."
    )
    machine: Text = Field(
        "", description="A key; empty: from the GPU's or CPU's name in each result."
    )
    track: Name = "import"
    label: Text = Field("", description="Shown with the run.")
    dry_run: bool = Field(False, description="Check and count, change nothing.")
    build: Text = Field(
        "", description="Of another tool's file that names none: the label of the build."
    )
    at: Moment | None = Field(
        None, description="Of another tool's file that does not say: when it was measured."
    )
    config: Text = Field("", description="Of another tool's file that names none: the config.")
    metric: list[Annotated[Name, AfterValidator(_understood)]] = Field(
        [],
        max_length=100,
        description="Which of our metrics one of theirs is: `Fwd Time (us)=latency_ms*0.001`.",
    )


class RefusedSource(Schema):
    source: str
    reason: str


class ImportSummary(Schema):
    """known: were here already. left_out: metrics of other tools that are not known here, and how
    often they came.
    """

    added: int
    known: int
    refused: list[RefusedSource]
    left_out: dict[str, int]


@router.post("results", response=ImportSummary, auth=POST_RESULTS)
def post(request: HttpRequest, where: Query[ImportTarget]) -> dict[str, Any]:
    """Take in a file: result.v1 documents, one or one a line, or another tool's; plain or gzip."""
    body = read_body(request, settings.RESULT_LIMIT_BYTES)
    hints = Hints(
        where.build,
        where.at,
        config=where.config,
        metrics=dict(parse_metric_mapping(text) for text in where.metric),
    )
    how = where.model_dump(include={"machine", "track", "label", "dry_run"})
    found = import_results(sources=[ImportSource(where.file or "body", body)], hints=hints, **how)
    if found.refused and not found.added and not found.known:
        told = "; ".join(f"{source}: {reason}" for source, reason in found.refused[:5])
        raise HttpError(422, f"Nothing could be taken in. {told}")
    refused = [{"source": source, "reason": reason} for source, reason in found.refused]
    return {
        "added": found.added,
        "known": found.known,
        "refused": refused,
        "left_out": found.left_out,
    }
