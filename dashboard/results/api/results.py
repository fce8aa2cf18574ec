"""Results from machines that no worker of this site runs on: posted, imported as files are."""

from typing import Annotated, Any

from django.conf import settings
from django.http import HttpRequest
from ninja import Field, Query, Router, Schema
from ninja.errors import HttpError
from pydantic import AfterValidator

from dashboard.accounts.access import POST_RESULTS
from dashboard.results.api.worker import read_body
from dashboard.results.formats import Hints, parse_metric_mapping, parse_table
from dashboard.results.services.import_existing import ImportSource
from dashboard.results.services.imports import import_results
from dashboard.ui.api.parameters import Moment, Name, Text

router = Router(tags=["results"])


def _checked(text: str) -> str:
    parse_metric_mapping(text)
    return text


def _checked_table(text: str) -> str:
    if text:
        parse_table(text)
    return text


class ImportTarget(Schema):
    """Where results belong, and what the files of other tools do not say themselves."""

    file: Text = Field(
        "", description="Its name, which says how the CSV files of PyTorch's runners were made."
    )
    machine: Text = Field(
        "", description="A key; empty: from the GPU's or CPU's name in each result."
    )
    track: Name = "import"
    label: Text = Field("", description="Shown with the run.")
    dry_run: bool = Field(False, description="Check and count, change nothing.")
    judge: bool = Field(False, description="Ignored: each import is judged.", deprecated=True)
    build: Text = Field(
        "", description="Of another tool's file that names none: the label of the build."
    )
    at: Moment | None = Field(
        None, description="Of another tool's file that does not say: when it was measured."
    )
    config: Text = Field("", description="Of another tool's file that names none: the config.")
    metric: list[Annotated[Name, AfterValidator(_checked)]] = Field(
        [],
        max_length=100,
        description="Which of our metrics one of theirs is: `Fwd Time (us)=latency_ms*0.001`.",
    )

    map: Annotated[str, AfterValidator(_checked_table)] = Field(
        "", max_length=4000, description="Of any other CSV or JSON: the mapping, as TOML."
    )


class Refusal(Schema):
    source: str = Field(description="Which file or line.")
    reason: str = Field(description="What is wrong, in words.")


class Taken(Schema):
    """What became of the results."""

    added: int = Field(description="Number of results that are new.")
    known: int = Field(description="Number of results that were here already.")
    elsewhere: list[str] = Field(
        description="Where those of them are that are on another track or machine."
    )
    refused: list[Refusal] = Field(description="Results that were not taken.")
    left_out: dict[str, int] = Field(description="Unknown metrics: number of values of each.")


@router.post("results", response=Taken, auth=POST_RESULTS)
def post(request: HttpRequest, where: Query[ImportTarget]) -> dict[str, Any]:
    """Import a file: result.v1 documents, one or one a line, or another tool's; plain or gzip."""
    body = read_body(request, settings.RESULT_LIMIT_BYTES)
    metrics = dict(parse_metric_mapping(text) for text in where.metric)
    report = import_results(
        sources=[ImportSource(where.file or "body", body)],
        machine=where.machine,
        track=where.track,
        label=where.label,
        dry_run=where.dry_run,
        hints=Hints(
            where.build,
            where.at,
            config=where.config,
            metrics=metrics,
            table=parse_table(where.map) if where.map else None,
        ),
    )
    if report.refused and not report.added and not report.existing:
        reasons = "; ".join(f"{source}: {reason}" for source, reason in report.refused[:5])
        raise HttpError(422, f"Nothing could be imported. {reasons}")
    return {
        "added": report.added,
        "known": report.existing,
        "elsewhere": [
            f"{count} on track {track}, machine {machine}"
            for (track, machine), count in report.elsewhere.items()
        ],
        "refused": [{"source": source, "reason": reason} for source, reason in report.refused],
        "left_out": report.left_out,
    }
