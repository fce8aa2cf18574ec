"""Records of a CSV or JSON file, each flat: column -> value."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from dashboard.results.formats.common import Document
from dashboard.results.formats.fields import Malformed, shown

MOST_FIELD = 10_000
EXPECTED = {"*": "an object", "[]": "a list"}
Records = Iterator[tuple[str, Document | Malformed]]  # each with its place


def csv_records(where: str, text: str) -> Records:
    """One record a line; its fields are separated by commas, semicolons or tabs."""
    first = text.partition("\n")[0]
    rows = csv.DictReader(io.StringIO(text), delimiter=max(",;\t", key=first.count), strict=True)
    try:
        names = [name.strip() for name in rows.fieldnames or []]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            yield where, Malformed(f"its first line has the column {shown(twice)} twice")
            return
        for row in rows:
            line = f"{where}, line {rows.line_num}"
            if None in row or None in row.values():
                yield line, Malformed("it has another number of fields than the first line")
            elif max(map(len, row.values())) > MOST_FIELD:
                yield line, Malformed(f"a field is longer than {MOST_FIELD} characters")
            else:
                yield line, {str(key).strip(): value for key, value in row.items()}
    except csv.Error as error:
        yield where, Malformed(f"it is not a CSV file: {error}")


def json_records(
    where: str, value: Any, steps: Sequence[str], around: Mapping[str, Any] | None = None
) -> Records:
    """Each record at the end of the steps, with the plain fields of the objects around it.

    A step is a key, [] for each of a list, or * for each of an object, whose keys become {key1},
    {key2}, …
    """
    fields = dict(around or {})
    if isinstance(value, dict):
        if not steps or steps[0] != "*":
            inner = {key: each for key, each in value.items() if not steps or key != steps[0]}
            fields |= flat_of(inner)
    elif not steps:
        fields["value"] = value
    if not steps:
        yield where, fields
        return

    step, rest = steps[0], steps[1:]
    if step not in ("*", "[]"):
        below = value.get(step) if isinstance(value, dict) else None
        if not isinstance(below, dict | list):
            yield where, Malformed(f"{step} is {shown(below)}: expected a list")
            return
        joint = "." if ", " in where or "[" in where else ", "
        yield from json_records(f"{where}{joint}{step}", below, rest, fields)
    elif isinstance(value, dict) and step == "*":
        number = sum(key.startswith("key") for key in fields) + 1
        for key, each in value.items():
            yield from json_records(f"{where}.{key}", each, rest, {**fields, f"key{number}": key})
    elif isinstance(value, list) and step == "[]":
        for place, each in enumerate(value):
            yield from json_records(f"{where}[{place}]", each, rest, fields)
    else:
        yield where, Malformed(f"it is {shown(value)}: expected {EXPECTED[step]}")


def changed(
    records: Iterable[tuple[str, Any]], change: Callable[[Any], Iterable[Document]]
) -> Records:
    """Yield what `change` makes of each record; where it raises Malformed, that."""
    for where, record in records:
        try:
            if isinstance(record, Malformed):
                raise record
            parts = list(change(record))
        except Malformed as error:
            yield where, error
        else:
            yield from ((where, part) for part in parts)


def flat_of(value: Mapping[str, Any], prefix: str = "") -> Document:
    flat: Document = {}
    for key, each in value.items():
        if isinstance(each, dict):
            flat |= flat_of(each, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = each
    return flat
