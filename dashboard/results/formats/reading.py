"""Finds the format of a file, and has it read."""

import json
from collections.abc import Iterator
from typing import Any

import orjson

from dashboard.results.formats import (
    asv,
    dynamo_csv,
    github_action_benchmark,
    pytest_benchmark,
    v3,
)
from dashboard.results.formats.common import NO_HINTS, Hints, ParsedFile, RefusedPart
from dashboard.results.formats.documents import ImportedNames

FORMATS = (
    "result files of benchmarks_suite",
    "PyTorch benchmark records, v3 (JSON, or one a line)",
    "CSV files of PyTorch's benchmarks/dynamo (performance, accuracy)",
    "pytest-benchmark's JSON",
    "asv's results",
    "the data.js of github-action-benchmark",
)
OURS = "benchmarks_suite"
UNKNOWN = f"it is none of what can be imported: {'; '.join(FORMATS)}"

OTHER_CSV = (
    "it is not a CSV file of PyTorch's benchmarks/dynamo as its runs write them, with the columns "
    "name, batch_size, and speedup or accuracy. (Its lists of expected accuracy are not results.)"
)


def parse_file(
    name: str, body: bytes, hints: Hints = NO_HINTS, names: ImportedNames | None = None
) -> ParsedFile:
    """Read the file ``name`` with these (unpacked) bytes. Never raises for its content."""
    file = _parse(name, body, hints)
    file.refuse_second_values()
    file.documents += (names or ImportedNames()).documents(file)
    return file


def _parse(name: str, body: bytes, hints: Hints) -> ParsedFile:
    if dynamo_csv.matches(body):
        return dynamo_csv.read(name, body, hints)
    if name.endswith((".csv", ".csv.gz")):
        return ParsedFile(refused=[RefusedPart(name, OTHER_CSV)])
    try:
        records = list(_decoded(name, github_action_benchmark.plain_json(body)))
    except ValueError as error:
        return ParsedFile(refused=[RefusedPart(name, str(error))])
    if not records:
        return ParsedFile(refused=[RefusedPart(name, "it is empty")])
    return _parse_json(name, records, hints)


def _parse_json(name: str, records: list[tuple[str, Any]], hints: Hints) -> ParsedFile:
    value = records[0][1]
    if v3.matches(value):
        if isinstance(value, list) and len(records) == 1:
            records = [(f"{name}, record {place}", each) for place, each in enumerate(value, 1)]
        return v3.read(name, records, hints)
    if len(records) == 1 and pytest_benchmark.matches(value):
        return pytest_benchmark.read(name, value, hints)
    if len(records) == 1 and asv.matches(value):
        return asv.read(name, value, hints)
    if len(records) == 1 and github_action_benchmark.matches(value):
        return github_action_benchmark.read(name, value, hints)
    if isinstance(value, dict) and "schema" in value:
        return ParsedFile(OURS, documents=records)
    return ParsedFile(refused=[RefusedPart(name, UNKNOWN)])


def _decoded(name: str, body: bytes) -> Iterator[tuple[str, Any]]:
    """The value of a JSON file, or of each line of JSON Lines.

    Raises ValueError with the line and column.
    """
    clean = body.replace(b"\\u0000", b"\\ufffd")  # Postgres cannot store it
    try:
        yield name, orjson.loads(clean)
        return
    except orjson.JSONDecodeError as error:
        problem = error
    lines = [(number, line) for number, line in enumerate(clean.splitlines(), 1) if line.strip()]
    if len(lines) > 1 and _is_json(lines[0][1]):
        for number, line in lines:
            try:
                yield f"{name}, line {number}", orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise ValueError(f"line {number} is not JSON: {error}") from None
        return
    if b"Infinity" not in clean and b"NaN" not in clean:  # asv writes them
        raise ValueError(f"it is not JSON: {problem}")
    try:
        yield name, json.loads(clean)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not JSON: {error}") from None


def _is_json(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True
