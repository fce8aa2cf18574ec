"""Reads the records of a file by a mapping: which of their columns are what."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from dashboard.language.metrics import STATUS_METRIC
from dashboard.results.formats import fields
from dashboard.results.formats.common import (
    CONFIG,
    STATUSES,
    Document,
    ForeignMeasurement,
    Hints,
    MetricValue,
    ParsedFile,
    pattern,
)
from dashboard.results.formats.fields import Malformed
from dashboard.results.formats.mapping import Rule, Table
from dashboard.results.formats.records import Records, csv_records, json_records
from dashboard.results.formats.units import converts, in_our_unit

UNVERSIONED = {"", "unversioned", "unknown"}
MOST_RECORDS, MOST_PARAMETERS = 100_000, 50


def records_of(name: str, value: Any, table: Table) -> Records:
    """The records of a decoded JSON file, or of the text of a CSV."""
    if isinstance(value, str):
        return csv_records(name, value)
    return json_records(name, value, [step for step in table.rows.split(".") if step])


def read(records: Records, table: Table, hints: Hints) -> ParsedFile:
    file = ParsedFile(table.title, repeats=table.repeats)
    all_records = list(islice(records, MOST_RECORDS))
    for where, _ in islice(records, 1):
        file.refuse(where, f"more than {MOST_RECORDS} records in one file: split it")
    chosen = [each for each in all_records if _has(each[1], table.only)]
    if not chosen and table.otherwise:
        chosen = [each for each in all_records if _has(each[1], table.otherwise)]
    for where, record in chosen:
        try:
            if isinstance(record, Malformed):
                raise record
            _read_record(where, record, table, hints, file)
        except Malformed as error:
            file.refuse(where, str(error))
    if len(file.refused) == len(chosen) > 1 and len({each.why for each in file.refused}) == 1:
        why = f"{file.refused[0].why}, in each of {len(chosen)} records"
        file.refused = [replace(file.refused[0], why=why)]
    return file


def _has(record: Document | Malformed, only: Mapping[str, str]) -> bool:
    """Test whether its columns have these values, as far as it has these columns."""
    return isinstance(record, Malformed) or all(
        str(record.get(column, value)) == value for column, value in only.items()
    )


def _read_record(
    where: str, record: Document, table: Table, hints: Hints, file: ParsedFile
) -> None:
    """Add the values of a record to their cases, and its status."""
    failed = bool(table.failed) and table.failed.items() <= record.items()
    values = [] if failed else list(_values(record, table, hints, file))
    same_rule = [(rule, captured) for rule, _, _, captured in values]
    column = columns_in(table.texts.get("status", ""))
    word = "fail_to_run" if failed else text_of(table.texts.get("status", ""), record)
    status = STATUSES.get(word, word)
    if word and status not in STATUSES.values():
        raise Malformed(f"{column} is {fields.shown(word)}: expected {', '.join(STATUSES)}")
    cases = [_case(where, record, table, {}, hints)] if word and not values else []
    for rule, value_column, name, captured in values:
        case = _case(where, record, table, captured, hints)
        if name != case.model and (not rule.metric or same_rule.count((rule, captured)) > 1):
            case.parameters["metric"] = name  # several of theirs are one of ours
        case = file.case_of(case)
        value = _value(case, rule, value_column, record | captured)
        file.add(case, where, name, rule.key, value)
        cases.append(case)
    for each in cases if word else []:
        case = file.case_of(each)
        file.add(case, where, column, STATUS_METRIC, status)
        if status != "pass":
            said = text_of(table.texts.get("message", ""), record)
            case.message = said or f"{column} is {word}"


def _value(case: ForeignMeasurement, rule: Rule, column: str, record: Document) -> MetricValue:
    """The median of a column's numbers; single times become samples of the case."""
    unit = text_of(rule.unit, record)
    numbers = record.get(column)
    if isinstance(numbers, list):
        amounts = [_amount(each, rule, unit, f"{column}[{n}]") for n, each in enumerate(numbers)]
    else:
        amounts = [_amount(numbers, rule, unit, column)]
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
    unit, status = str(record.get("unit") or ""), text_of(texts.get("status", ""), record)
    has_names = "name" in texts
    if has_names:
        name = fields.text(text_of(texts["name"], record), columns_in(texts["name"]))
        columns = [(name, texts.get("value", "value"))]
    else:
        used = table.used | _parameters(record, table).keys()
        columns = [(column, column) for column in record if column not in used]
    rules = [*_rules_of(hints, unit, table), *table.rules]
    for name, column in columns:
        numbers = record.get(column)
        if numbers in (None, "") and (status or not has_names):
            continue
        rule, captured = _rule_of(name, record, rules)
        if rule and not _is_unmeasured(numbers, rule):
            yield rule, column, name, captured
        elif has_names or _is_number(numbers):
            file.left_out[(unit if has_names else "") or name] += 1


def _rule_of(name: str, record: Document, rules: Iterable[Rule]) -> tuple[Rule | None, Document]:
    """The first rule that fits, and what its pattern captured."""
    for rule in rules:
        match = pattern(rule.name).fullmatch(name)
        needs_unit = rule.metric and "{" in rule.unit
        if not match or not _has(record, rule.only):
            continue
        if not needs_unit or converts(text_of(rule.unit, record), rule.key):
            return rule, match.groupdict()
    return None, {}


def _rules_of(hints: Hints, unit: str, table: Table) -> Iterator[Rule]:
    """Rules of --metric: a name, a pattern of names, or a unit. A factor of 1 is the unit's."""
    for theirs, (key, factor) in hints.metrics.items():
        has_unit = converts(unit, key)
        name = "*" if theirs == unit else theirs
        unmeasured = next((rule.unmeasured for rule in table.rules if rule.metric == key), "")
        own_factor = 0.0 if factor == 1 and has_unit else factor
        yield Rule(name, key, unit=unit, factor=own_factor, unmeasured=unmeasured)


def _is_unmeasured(numbers: Any, rule: Rule) -> bool:
    values = numbers if isinstance(numbers, list) else [numbers]
    if not (rule.unmeasured and values and all(map(_is_number, values))):
        return False
    middle = sorted(map(float, values))[len(values) // 2]
    return middle == 0 or (middle < 0 and rule.unmeasured == "<= 0")


def _is_number(value: Any) -> bool:
    try:
        fields.number(value, "")
    except Malformed:
        return False
    return True


def _parameters(record: Document, table: Table) -> dict[str, str]:
    """Column -> name of the parameter that it is; what a text uses tells apart already."""
    names = {}
    for parameter in table.parameters:
        prefix, star, _ = parameter.partition("*")
        for column in record:
            is_parameter = column == parameter or (star and column.startswith(prefix))
            if is_parameter and column not in table.used:
                names[column] = column.removeprefix(prefix) if star else column
    return names


def _amount(number: Any, rule: Rule, unit: str, field_name: str) -> float:
    if isinstance(number, str):
        number = re.sub(r"\s*\(.*\)$", "", number)  # tritonbench's spread
    if rule.factor:
        return fields.quantity(number, field_name, rule.factor)
    return in_our_unit(number, unit, rule.key, field_name)


def _case(
    where: str, record: Document, table: Table, captured: Document, hints: Hints
) -> ForeignMeasurement:
    """captured: from the name of what was measured; it takes the place of a text."""

    def text(key: str, otherwise: str = "") -> str:
        return str(captured.get(key) or text_of(texts.get(key, ""), record) or otherwise)

    def count(key: str) -> int:
        number = text(key)
        return 1 if number in ("", "0") else fields.whole(number, columns_in(texts[key]))

    texts = table.texts
    sha = text("commit")
    build = hints.build or text("build") or _label(sha)
    _check_place(texts, build, hints.machine or text("machine") or text("gpu") or text("cpu"))
    benchmark = texts.get("benchmark", texts.get("name", ""))
    parameters = {}
    for column, name in islice(_parameters(record, table).items(), MOST_PARAMETERS):
        if record[column] not in (None, "None", "", [], {}):
            parameters[name] = str(record[column])
    return ForeignMeasurement(
        where,
        text("tool", "a mapping"),
        fields.text(text_of(benchmark, record | captured), columns_in(benchmark)),
        text("family", "imported"),
        build,
        _time(texts, record, hints),
        hints.config or text("config", CONFIG),
        text("mode", "inference").lower(),
        text("dtype", "float32").lower(),
        count("batch_size"),
        # A config that another replaces goes on to tell apart
        suite=", ".join(filter(None, (text("suite"), text("config") if hints.config else ""))),
        parameters=parameters,
        plain_config=hints.config or text("plain_config"),
        version=text("build"),
        git_sha="" if sha in UNVERSIONED else sha,
        machine=text("machine"),
        gpu=text("gpu") or None,
        cpu=text("cpu", "unknown CPU"),
        cores=count("cores"),
        memory_gb=fields.number(text("memory_gb", "0"), columns_in(texts.get("memory_gb", ""))),
        python=text("python"),
        settings={name: text_of(each, record)[:200] for name, each in table.settings.items()},
    )


def _check_place(texts: Mapping[str, str], build: str, machine: str) -> None:
    """Raises Malformed where a value is of no build or of no machine."""
    if not build:
        raise Malformed(
            f"{columns_in(texts.get('commit', 'the mapping'))} names no commit: give the build's "
            "label with the import (--build)"
        )
    if not machine:
        column = columns_in(texts.get("machine", texts.get("cpu", "the mapping")))
        raise Malformed(f"{column} names no machine: give its key with the import (--machine)")


def _label(sha: str) -> str:
    """A build's label from its commit: the first digits of a hash, another name as it is."""
    if sha in UNVERSIONED:
        return ""
    return f"git-{sha[:12] if re.fullmatch('[0-9a-fA-F]+', sha) else sha}"


def _time(texts: Mapping[str, str], record: Document, hints: Hints) -> datetime:
    """Their time: ISO 8601, UTC where it names no zone; or seconds or milliseconds since 1970."""
    written = text_of(texts.get("time", ""), record).strip()
    try:
        if re.fullmatch(r"\d+(\.\d*)?", written) and not re.fullmatch(r"(19|20)\d{6}", written):
            seconds = float(written) * (1e-3 if float(written) > 1e11 else 1.0)
            at = datetime.fromtimestamp(seconds, UTC)
        else:
            without_gap = re.sub(r"\s+(?=[+-]\d\d:?\d\d$)", "", written)
            at = datetime.fromisoformat(re.sub(r"^(\d{8})-(\d{6})$", r"\1T\2", without_gap))
        if 1990 <= at.year < 2100:
            return at if at.tzinfo else hints.at or at.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        pass
    if hints.at:
        return hints.at
    column = columns_in(texts.get("time", "")) or "the time"
    if written:
        raise Malformed(f"{column} is {fields.shown(written)}, not a time since 1990")
    raise Malformed(f"{column} is missing: say with the import when it was measured (--at)")


def columns_in(template: str) -> str:
    """The columns of a template, as an error names them."""
    return " or ".join(re.findall(r"[^{}|]+", template))


def text_of(template: str, record: Document) -> str:
    """The template with its columns' values; empty where a column has none."""

    def value(match: re.Match[str]) -> str:
        for column in match[1].split("|"):
            if record.get(column) not in (None, ""):
                return str(record[column])
        return "\0"

    text = re.sub(r"\{([^{}]+)\}", value, template)
    return "" if "\0" in text else text
