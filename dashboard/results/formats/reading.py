"""Finds the format of a file, and has it read."""

import json
import re
from collections.abc import Iterator
from typing import Any

import orjson

from dashboard.results.formats import asv, dynamo_csv, mapped, v3
from dashboard.results.formats.common import NO_HINTS, Hints, ParsedFile, RefusedPart
from dashboard.results.formats.documents import ImportedNames
from dashboard.results.formats.mapping import Table
from dashboard.results.formats.tables import TABLES

FORMATS = (
    "result files of benchmarks_suite",
    "PyTorch benchmark records, v3 (JSON, or one a line)",
    "CSV files of PyTorch's benchmarks/dynamo (performance, accuracy)",
    "asv's results",
    *(table.title for table in TABLES),
)
OURS = "benchmarks_suite"
UNKNOWN = (
    f"it is none of what can be imported: {'; '.join(FORMATS)}. A mapping (--map) reads any other"
)
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")  # as spreadsheets write them
ASSIGNMENT = re.compile(rb"\s*window\.BENCHMARK_DATA\s*=")  # data.js

OTHER_CSV = (
    "it is not a CSV file of PyTorch's benchmarks/dynamo as its runs write them, with the columns "
    "name, batch_size, and speedup or accuracy. (Its lists of expected accuracy are not results.) "
    "A mapping (--map) reads any other"
)


def parse_file(
    name: str, body: bytes, hints: Hints = NO_HINTS, names: ImportedNames | None = None
) -> ParsedFile:
    """Read the file ``name`` with these (unpacked) bytes. Never raises for its content."""
    file = _parse(name, body, hints)
    file.leave_out_unclear()
    file.documents += (names or ImportedNames()).documents(file)
    return file


def _parse(name: str, body: bytes, hints: Hints) -> ParsedFile:
    is_csv = name.endswith((".csv", ".csv.gz"))
    assignment = ASSIGNMENT.match(body)
    is_json = assignment or body.lstrip()[:1] in (b"{", b"[")
    if hints.table and (is_csv or not is_json):
        coding = "utf-16" if body[:2] in UTF16_MARKS else "utf-8-sig"
        text = body.decode(coding, errors="replace")
        return mapped.read(mapped.records_of(name, text, hints.table), hints.table, hints)
    if dynamo_csv.matches(body):
        return dynamo_csv.read(name, body, hints)
    if is_csv:
        return ParsedFile(refused=[RefusedPart(name, OTHER_CSV)])
    script = body[assignment.end() :].strip().removesuffix(b";") if assignment else body
    try:
        records = list(_decoded(name, script))
    except ValueError as error:
        return ParsedFile(refused=[RefusedPart(name, str(error))])
    if hints.table:
        value = _value(records, hints.table)
        return mapped.read(mapped.records_of(name, value, hints.table), hints.table, hints)
    return _parse_json(name, records, hints)


def _value(records: list[tuple[str, Any]], table: Table) -> Any:
    """The value of a file; of JSON Lines their list, also of a single line."""
    value = records[0][1]
    is_line = table.rows.startswith("[]") and not isinstance(value, list)
    return [each for _, each in records] if len(records) > 1 or is_line else value


def _parse_json(name: str, records: list[tuple[str, Any]], hints: Hints) -> ParsedFile:
    value = records[0][1]
    if v3.matches(value):
        if isinstance(value, list) and len(records) == 1:
            records = [(f"{name}, record {place}", each) for place, each in enumerate(value, 1)]
        return v3.read(records, hints)
    if isinstance(value, dict) and "schema" in value:
        return ParsedFile(OURS, documents=records)
    if len(records) == 1 and asv.matches(value):
        return asv.read(name, value, hints)
    if _is_beside_asvs_results(value):
        return ParsedFile()
    for table in TABLES:
        if len(records) == 1 and isinstance(value, dict) and table.needs <= value.keys():
            return mapped.read(mapped.records_of(name, value, table), table, hints)
    return ParsedFile(refused=[RefusedPart(name, UNKNOWN)])


def _is_beside_asvs_results(value: Any) -> bool:
    """Test whether it is asv's machine.json or benchmarks.json, which are in the same folders."""
    if not isinstance(value, dict) or not value:
        return False
    others = [each for key, each in value.items() if key != "version"]
    is_list = others and all(isinstance(each, dict) and "param_names" in each for each in others)
    return bool(is_list) or {"machine", "num_cpu", "ram", "arch"} <= value.keys()


def _decoded(name: str, body: bytes) -> Iterator[tuple[str, Any]]:
    """The value of a JSON file, or of each line of JSON Lines.

    Raises ValueError with the line and column.
    """
    clean = body.replace(b"\\u0000", b"\\ufffd")  # Postgres cannot store it
    lines = [(number, line) for number, line in enumerate(clean.splitlines(), 1) if line.strip()]
    is_lines = len(lines) > 1 and _is_json(lines[0][1])
    for number, text in lines if is_lines else [(0, clean)]:
        # asv writes Infinity and NaN
        loads = json.loads if b"Infinity" in text or b"NaN" in text else orjson.loads
        try:
            yield f"{name}, line {number}" if is_lines else name, loads(text)
        except (ValueError, RecursionError) as error:
            where = f"line {number}" if is_lines else "it"
            raise ValueError(f"{where} is not JSON: {error}") from None


def _is_json(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True
