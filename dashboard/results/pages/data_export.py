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

from dashboard.language.reading import read_moment
from dashboard.results.core.data_files import DataRow, csv_lines, json_lines, parquet, v3_lines
from dashboard.results.selectors.data_export import FILTERS, Filter, rows

TEXTS: dict[str, tuple[str, Callable[[Iterable[DataRow]], Iterator[bytes]]]] = {
    "csv": ("text/csv; charset=utf-8", csv_lines),
    "jsonl": ("application/x-ndjson", json_lines),
    "v3": ("application/x-ndjson", v3_lines),
}
PLAIN = "text/plain; charset=utf-8"
NO_PARQUET = (
    "This site cannot write Parquet: install pyarrow next to it (pip install pyarrow), "
    "or take data.jsonl."
)


def export(request: HttpRequest, form: str) -> HttpResponseBase:
    """The data as a file, streamed.

    400 for an address that cannot be read, 501 for Parquet where pyarrow is missing.
    """
    try:
        requested = _filter(request)
    except ValueError as error:
        return HttpResponse(str(error), status=400, content_type=PLAIN)
    suffix = "v3.jsonl" if form == "v3" else form
    headers = {"Content-Disposition": f'attachment; filename="compilewatch.{suffix}"'}
    if form == "parquet":
        return _parquet(requested, headers)
    content_type, lines = TEXTS[form]
    return StreamingHttpResponse(lines(rows(requested)), content_type=content_type, headers=headers)


def _filter(request: HttpRequest) -> Filter:
    """Read the filters of the address. Raises ValueError."""
    names = (*FILTERS, "since", "until")
    if unknown := sorted(request.GET.keys() - set(names)):
        raise ValueError(f"Unknown filter {', '.join(unknown)}. Known: {', '.join(names)}.")
    chosen = {name: request.GET.getlist(name) for name in FILTERS}
    return Filter(chosen, _moment(request, "since"), _moment(request, "until"))


def _moment(request: HttpRequest, name: str) -> datetime | None:
    """A day or a time, ISO 8601; without a zone it is the site's. Raises ValueError."""
    text = request.GET.get(name, "")
    if not text:
        return None
    try:
        return read_moment(text, timezone.get_current_timezone())
    except ValueError:
        raise ValueError(
            f"{name} is {text!r}: write a day or a time, as 2026-11-21 or 2026-11-21T03:00Z."
        ) from None


def _parquet(requested: Filter, headers: dict[str, str]) -> HttpResponseBase:
    # FileResponse closes the file, which removes it
    file = tempfile.NamedTemporaryFile(suffix=".parquet")  # noqa: SIM115
    try:
        parquet(rows(requested), file.name)
    except ImportError:
        file.close()
        return HttpResponse(NO_PARQUET, status=501, content_type=PLAIN)
    return FileResponse(file, content_type="application/vnd.apache.parquet", headers=headers)
