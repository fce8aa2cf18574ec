"""Answers that a browser saves as a file: a table as CSV, a document as JSON."""

from collections.abc import Iterable, Sequence
from typing import Any

import orjson
from django.http import HttpResponse

from dashboard.language.exports import csv_text


def table_file(
    name: str, form: str, fields: Sequence[str], rows: Iterable[Sequence[Any]]
) -> HttpResponse:
    """A table as ``name``.csv, or as ``name``.json with an object for each row."""
    if form == "csv":
        return csv_file(name, fields, rows)
    return json_file(name, [dict(zip(fields, row, strict=True)) for row in rows])


def csv_file(name: str, fields: Sequence[str], rows: Iterable[Sequence[Any]]) -> HttpResponse:
    return HttpResponse(
        csv_text(fields, rows),
        content_type="text/csv; charset=utf-8",
        headers=attachment(f"{name}.csv"),
    )


def json_file(name: str, document: Any) -> HttpResponse:
    """numpy values straight to JSON; NaN becomes null."""
    return HttpResponse(
        orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY),
        content_type="application/json",
        headers=attachment(f"{name}.json"),
    )


def attachment(file: str) -> dict[str, str]:
    """The header that makes a browser save an answer as this file."""
    return {"Content-Disposition": f'attachment; filename="{file}"'}
