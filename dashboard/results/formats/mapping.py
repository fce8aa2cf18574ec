"""A table that says which columns of a file are what: of any CSV or JSON (--map), or built in."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any

import jsonschema_rs

from dashboard.catalog.core.plan import require_known
from dashboard.language.contracts import Refused, check_schema
from dashboard.language.metrics import HIGHER, LOWER, METRICS
from dashboard.results.formats import fields
from dashboard.results.formats.common import (
    CONFIG,
    Document,
    ForeignMeasurement,
    Hints,
    MetricValue,
    ParsedFile,
    pattern,
)
from dashboard.results.formats.fields import Malformed
from dashboard.results.formats.records import csv_records, json_records
from dashboard.results.formats.units import converts, in_our_unit

UNVERSIONED = {"", "unversioned", "unknown"}
MOST_RECORDS = 100_000
# fmt: off
TEXTS = frozenset((
    "benchmark", "suite", "config", "build", "commit", "time", "machine", "mode", "dtype",
    "batch_size", "family", "cpu", "cores", "python", "name", "value",
))
# fmt: on


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of number in a file.

    name: pattern of what was measured, or of its column; * is anything, {config} its config. only:
    column -> value. metric: our key; without one it is a number as such, with its direction.
    unit: theirs, or {column}; a rule whose metric has no such unit is left. factor: to our unit.
    samples: column of single values.
    """

    name: str = "*"
    metric: str = ""
    unit: str = ""
    factor: float = 0.0
    higher_is_better: bool = False
    samples: str = ""
    only: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return self.metric or (HIGHER if self.higher_is_better else LOWER)


@dataclass(frozen=True, slots=True)
class Table:
    """A mapping.

    texts: TEXTS -> text in which {column} is its value, {a|b} the first that is not empty.
    rows: the way to a JSON file's records. parameters: columns that tell cases apart.
    only: column -> value of the records that count. repeats: of one case there may be several.
    name (of texts): what a record measures; without it each column is measured.
    needs: keys of a JSON file of this kind.
    """

    rules: Sequence[Rule]
    texts: Mapping[str, str]
    title: str = "file with a mapping"
    needs: frozenset[str] = frozenset()
    rows: str = ""
    parameters: Sequence[str] = ()
    only: Mapping[str, str] = field(default_factory=dict)
    repeats: bool = False


def parse_table(text: str) -> Table:
    """A mapping as TOML. Raises ValueError."""
    try:
        document = tomllib.loads(text)
        check_schema(document, _validator(), "mapping")
        rules = [Rule(**rule) for rule in document.pop("metrics")]
        for rule in rules:
            pattern(rule.name)
    except (Refused, re.error, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"the mapping cannot be read: {error}") from None
    require_known("metric", [rule.key for rule in rules], list(METRICS))
    texts = {key: document.pop(key) for key in TEXTS & document.keys()}
    return Table(rules, texts, **document)


@cache
def _validator() -> jsonschema_rs.Draft202012Validator:
    text: Document = {"type": "string"}
    columns: Document = {"type": "object", "additionalProperties": text}
    rule = dict.fromkeys(("name", "metric", "unit", "samples"), text)
    rule |= {"factor": {"type": "number"}, "higher_is_better": {"type": "boolean"}, "only": columns}
    rules: Document = {"type": "object", "additionalProperties": False, "properties": rule}
    table = dict.fromkeys((*TEXTS, "rows"), text)
    table |= {
        "metrics": {"type": "array", "minItems": 1, "items": rules},
        "parameters": {"type": "array", "items": text},
        "repeats": {"type": "boolean"},
        "only": columns,
    }
    return jsonschema_rs.Draft202012Validator(
        {
            "type": "object",
            "required": ["metrics"],
            "additionalProperties": False,
            "properties": table,
        }
    )


def read(name: str, value: Any, table: Table, hints: Hints) -> ParsedFile:
    """Read a decoded JSON file, or the text of a CSV."""
    file = ParsedFile(table.title, repeats=table.repeats)
    steps = [step for step in table.rows.split(".") if step]
    records = (
        csv_records(name, value) if isinstance(value, str) else json_records(name, value, steps)
    )
    for count, (where, record) in enumerate(records):
        if count == MOST_RECORDS:
            file.refuse(where, f"more than {MOST_RECORDS} records in one file: split it")
            break
        with file.part(where):
            if isinstance(record, Malformed):
                raise record
            if _has(record, table.only):
                _read_record(where, record, table, hints, file)
    return file


def _has(record: Document, only: Mapping[str, str]) -> bool:
    """Test whether its columns have these values, as far as it has these columns."""
    return all(str(record.get(column, value)) == value for column, value in only.items())


def _read_record(
    where: str, record: Document, table: Table, hints: Hints, file: ParsedFile
) -> None:
    """Add the cases of a record; several of its values may be of one case."""
    values = list(_values(record, table, hints, file))
    keys = [(rule.key, captured) for rule, _, _, captured in values]
    cases: dict[tuple[Any, ...], ForeignMeasurement] = {}
    for rule, column, name, captured in values:
        fields = record | captured
        texts = {**table.texts, **{key: f"{{{key}}}" for key in captured}}
        case = _case(where, fields, texts, hints)
        for parameter in table.parameters:
            if record.get(parameter) not in (None, ""):
                case.parameters[parameter] = str(record[parameter])
        if name != case.model and (not rule.metric or keys.count((rule.key, captured)) > 1):
            case.parameters["metric"] = name  # several of theirs are one of ours
        case = cases.setdefault(case.identity, case)
        file.add_metric(case, where, name, rule.key, _value(case, rule, column, fields))
    file.cases += cases.values()


def _value(case: ForeignMeasurement, rule: Rule, column: str, record: Document) -> MetricValue:
    """The median of a column's numbers; single times become samples of the case."""
    unit = text_of(rule.unit, record)
    numbers = record.get(column)
    amounts = []
    for number in numbers if isinstance(numbers, list) else [numbers]:
        amounts.append(_amount(number, rule, unit, column))
    if not amounts:
        raise Malformed(f"{column} is empty")
    samples = amounts if len(amounts) > 1 else []
    for place, sample in enumerate(fields.items(record.get(rule.samples) or [], rule.samples)):
        samples.append(_amount(sample, rule, unit, f"{rule.samples}[{place}]"))
    if rule.key == "latency_ms":
        case.samples_ms = samples
    return MetricValue(sorted(amounts)[len(amounts) // 2], n=len(samples) or 1)


def _values(
    record: Document, table: Table, hints: Hints, file: ParsedFile
) -> Iterator[tuple[Rule, str, str, Document]]:
    """(rule, column, their name, what the rule's pattern captured) of each value."""
    texts = table.texts
    if "name" in texts:
        name = fields.text(text_of(texts["name"], record), texts["name"].strip("{}"))
        columns = [(name, texts.get("value", "value"))]
    else:
        used = {*re.findall(r"[^{}|]+", "}".join(texts.values())), *table.parameters}
        columns = [(column, column) for column in record if column not in used]
    for name, column in columns:
        unit = str(record.get("unit") or "")
        for rule in [*_rules_of(hints, unit), *table.rules]:
            match = pattern(rule.name).fullmatch(name)
            is_left = "{" in rule.unit and not converts(text_of(rule.unit, record), rule.key)
            if not match or not _has(record, rule.only) or (is_left and rule.metric):
                continue
            if "name" in texts or record[column] not in (None, ""):
                yield rule, column, name, match.groupdict()
            break
        else:
            if "name" in texts:
                file.left_out[unit or name] += 1


def _rules_of(hints: Hints, unit: str) -> Iterator[Rule]:
    """Rules of --metric: a name, a pattern of names, or a unit. A factor of 1 is the unit's."""
    for theirs, (key, factor) in hints.metrics.items():
        has_unit = converts(unit, key)
        name = "*" if theirs == unit else theirs
        yield Rule(name, key, unit=unit, factor=0.0 if factor == 1 and has_unit else factor)


def _amount(number: Any, rule: Rule, unit: str, field_name: str) -> float:
    if isinstance(number, str):
        number = re.sub(r"\s*\(.*\)$", "", number)  # tritonbench's spread
    if rule.factor:
        return fields.quantity(number, field_name, rule.factor)
    return in_our_unit(number, unit, rule.key, field_name)


def _case(
    where: str, record: Document, texts: Mapping[str, str], hints: Hints
) -> ForeignMeasurement:
    def text(key: str, otherwise: str = "") -> str:
        return text_of(texts.get(key, ""), record) or otherwise

    sha = text("commit")
    build = hints.build or text("build") or ("" if sha in UNVERSIONED else f"git-{sha[:12]}")
    if not build:
        raise Malformed(
            f"{texts.get('commit', 'the mapping').strip('{}')} names no commit: give the build's "
            "label with the import (--build)"
        )
    benchmark = texts.get("benchmark", texts.get("name", ""))
    config = text("config", CONFIG)
    return ForeignMeasurement(
        where,
        text("tool", "a mapping"),
        fields.text(text_of(benchmark, record), benchmark.strip("{}")),
        text("family", "imported"),
        build,
        _time(texts, record, hints),
        hints.config or config,
        text("mode", "inference"),
        text("dtype", "float32"),
        fields.whole(text("batch_size", "1"), "batch_size"),
        suite=", ".join(filter(None, (text("suite"), config if hints.config else ""))),
        git_sha="" if sha in UNVERSIONED else sha,
        machine=text("machine"),
        cpu=text("cpu", "unknown CPU"),
        cores=fields.whole(text("cores", "1"), texts.get("cores", "")),
        python=text("python"),
    )


def _time(texts: Mapping[str, str], record: Document, hints: Hints) -> datetime:
    """Their time: ISO 8601, UTC where it names no zone; or seconds or milliseconds since 1970."""
    column = texts.get("time", "").strip("{}") or "the time"
    written = text_of(texts.get("time", ""), record)
    if not written:
        if hints.at is None:
            raise Malformed(f"{column} is missing: say with the import when it was measured (--at)")
        return hints.at
    if re.fullmatch(r"[0-9.]+", written):
        factor = 1e-3 if float(written) > 1e11 else 1.0
        return fields.moment(written, column, hints.at, factor)
    try:
        without_gap = re.sub(r"\s+(?=[+-]\d\d:?\d\d$)", "", written.strip())
        at = datetime.fromisoformat(re.sub(r"^(\d{8})-(\d{6})$", r"\1T\2", without_gap))
    except ValueError:
        if hints.at is None:
            raise Malformed(f"{column} is {fields.shown(written)}, not a time") from None
        return hints.at
    return at if at.tzinfo else hints.at or at.replace(tzinfo=UTC)


def text_of(template: str, record: Document) -> str:
    """The template with its columns' values; empty where a column has none."""

    def value(match: re.Match[str]) -> str:
        for column in match[1].split("|"):
            if record.get(column) not in (None, ""):
                return str(record[column])
        return "\0"

    text = re.sub(r"\{([^{}]+)\}", value, template)
    return "" if "\0" in text else text
