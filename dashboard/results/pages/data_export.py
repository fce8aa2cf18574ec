"""One address for all data: /export/data.FORMAT with the pages' filters. docs/export.md."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from django.http import (
    FileResponse,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    StreamingHttpResponse,
)
from django.utils import timezone

from dashboard.results.core.data_files import DataRow, csv_lines, json_lines, parquet, v3_lines
from dashboard.results.selectors.data_export import FILTERS, Filter, rows

TEXTS: dict[str, tuple[str, Callable[[Iterable[DataRow]], Iterator[bytes]]]] = {
    "csv": ("text/csv; charset=utf-8", csv_lines),
    "jsonl": ("application/x-ndjson", json_lines),
    "v3": ("application/x-ndjson", v3_lines),
}
NO_PARQUET = (
    "This site cannot write Parquet: install pyarrow beside it (pip install pyarrow), "
    "or take data.jsonl."
)


def export(request: HttpRequest, form: str) -> HttpResponseBase:
    """The data as a file, streamed. 400 for an address that cannot be read, 501 where pyarrow is
    missing.
    """
    if unknown := sorted(request.GET.keys() - {*FILTERS, "since", "until"}):
        known = ", ".join((*FILTERS, "since", "until"))
        return _refusal(f"Unknown filter {', '.join(unknown)}. Known: {known}.")
    try:
        since, until = (_moment(request, name) for name in ("since", "until"))
    except ValueError as error:
        return _refusal(str(error))
    asked = Filter({name: request.GET.getlist(name) for name in FILTERS}, since, until)
    name = f'attachment; filename="compilewatch.{"v3.jsonl" if form == "v3" else form}"'
    if form == "parquet":
        return _parquet(asked, name)
    kind, written = TEXTS[form]
    return StreamingHttpResponse(
        written(rows(asked)), content_type=kind, headers={"Content-Disposition": name}
    )


def _moment(request: HttpRequest, name: str) -> datetime | None:
    """A day or a time, ISO 8601; without a zone it is the site's. Raises ValueError."""
    text = request.GET.get(name, "")
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{name} is {text!r}: write a day or a time, as 2026-11-21 or 2026-11-21T03:00Z."
        ) from None
    return at if at.tzinfo else timezone.make_aware(at)


def _parquet(asked: Filter, name: str) -> HttpResponseBase:
    file = tempfile.NamedTemporaryFile(suffix=".parquet")  # noqa: SIM115 - FileResponse closes, and so removes it
    try:
        parquet(rows(asked), file.name)
    except ImportError:
        file.close()
        return HttpResponse(NO_PARQUET, status=501, content_type="text/plain; charset=utf-8")
    headers = {"Content-Disposition": name}
    return FileResponse(file, content_type="application/vnd.apache.parquet", headers=headers)


def _refusal(text: str) -> HttpResponse:
    return HttpResponse(text, status=400, content_type="text/plain; charset=utf-8")
