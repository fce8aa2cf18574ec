"""Checks a document against one of our two schemas, with the standard library alone.

It reads the subset of JSON Schema (draft 2020-12) that schema/*.json use and refuses a schema that
uses more, so that it can never silently accept what the schema forbids. ``format`` is an annotation
there and is not checked here either.
"""

import json
import operator
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any

SCHEMA_FOLDER = Path(__file__).parent.parent / "schema"
_ANNOTATIONS = frozenset({"$schema", "$id", "title", "default", "format"})


class WrongInput(ValueError):
    """Unusable input to a command; the text says why."""


class ContractError(ValueError):
    """The document breaks its contract; the text names each field and what is allowed there."""


Document = dict[str, Any]  # an object of JSON
Problem = tuple[str, str]  # path, what is wrong there
# (value, the keyword's rule, all rules at this place, path) -> what is wrong
Keyword = Callable[[Any, Any, Any, str], Iterator[Problem]]


@lru_cache
def schema(name: str) -> Document:
    """The schema ``name`` (``job.v1`` or ``result.v1``)."""
    text = (SCHEMA_FOLDER / f"{name}.json").read_text(encoding="utf-8")
    document: Document = json.loads(text)
    return document


def read_json(text: str) -> Any:
    """Parses JSON; NaN and Infinity, which Python would accept, are refused with ValueError."""

    def refuse(word: str) -> None:
        raise ValueError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def check(document: Any, name: str) -> None:
    """Raises ContractError naming up to ten fields of ``document`` that break schema ``name``."""
    problems = list(_problems(document, schema(name), ""))
    if problems:
        lines = [f"{path or 'document'}: {text}" for path, text in problems[:10]]
        raise ContractError("; ".join(lines))


def with_defaults(document: Document, rules: Document) -> Document:
    """A copy of a valid ``document`` with every field that has a default in ``rules``."""
    filled = dict(document)
    for key, rule in rules.get("properties", {}).items():
        if "default" in rule:
            filled.setdefault(key, rule["default"])
            continue
        has_fields = rule.get("type") == "object" and "properties" in rule
        if has_fields and (key in filled or "required" not in rule):
            filled[key] = with_defaults(filled.get(key, {}), rule)
    return filled


def _problems(value: Any, rules: Document, path: str) -> Iterator[Problem]:
    kinds = rules.get("type")
    if kinds and not _is_of(value, kinds):
        words = kinds if isinstance(kinds, str) else " or ".join(kinds)
        yield path, f"must be {words}, not {_shown(value)}"
        return
    for keyword, rule in rules.items():
        if keyword in _KEYWORDS:
            yield from _KEYWORDS[keyword](value, rule, rules, path)
        elif keyword not in _ANNOTATIONS and keyword != "type":
            raise NotImplementedError(
                f"schema keyword {keyword!r} at {path or 'document'}: teach it to "
                "harness/contract.py"
            )


def _is_of(value: Any, kinds: str | list[str]) -> bool:
    if isinstance(kinds, list):
        return any(_is_of(value, kind) for kind in kinds)
    if isinstance(value, bool):  # which Python takes for an int
        return kinds == "boolean"
    if kinds == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return isinstance(value, _TYPES[kinds])


_TYPES: dict[str, type | UnionType] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": NoneType,
    "number": int | float,
}


def _required(value: Any, names: list[str], rules: Any, path: str) -> Iterator[Problem]:
    if isinstance(value, dict):
        for name in names:
            if name not in value:
                yield _join(path, name), "is missing"


def _properties(value: Any, fields: Document, rules: Any, path: str) -> Iterator[Problem]:
    if isinstance(value, dict):
        for name, rule in fields.items():
            if name in value:
                yield from _problems(value[name], rule, _join(path, name))


def _additional(value: Any, rule: Any, rules: Any, path: str) -> Iterator[Problem]:
    if not isinstance(value, dict):
        return
    fields = rules.get("properties", {})
    for name in value:
        if name in fields:
            continue
        if rule is False:
            yield _join(path, name), f"is not a field; the fields are {', '.join(sorted(fields))}"
        elif isinstance(rule, dict):
            yield from _problems(value[name], rule, _join(path, name))


def _property_names(value: Any, rule: Any, rules: Any, path: str) -> Iterator[Problem]:
    if isinstance(value, dict):
        for name in value:
            yield from _problems(name, rule, _join(path, name))


def _items(value: Any, rule: Any, rules: Any, path: str) -> Iterator[Problem]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _problems(item, rule, f"{path}[{index}]")


def _unique(value: Any, rule: Any, rules: Any, path: str) -> Iterator[Problem]:
    if not isinstance(value, list) or not rule:
        return
    if any(item in value[:index] for index, item in enumerate(value)):
        yield path, "must not hold the same thing twice"


def _pattern(value: Any, pattern: str, rules: Any, path: str) -> Iterator[Problem]:
    if isinstance(value, str) and not re.search(pattern.replace("$", r"\Z"), value):
        yield path, f"must match {pattern}, not {_shown(value)}"


def _enum(value: Any, allowed: list[Any], rules: Any, path: str) -> Iterator[Problem]:
    for choice in allowed:
        if value == choice and isinstance(value, bool) == isinstance(choice, bool):
            return
    yield path, f"must be {' or '.join(map(str, allowed))}, not {_shown(value)}"


def _limit(kind: str, holds: Callable[[Any, Any], bool], words: str) -> Keyword:
    """A keyword that bounds a number, or the length of anything else."""

    def keyword(value: Any, bound: float, rules: Any, path: str) -> Iterator[Problem]:
        if not _is_of(value, kind):
            return
        measured = value if kind == "number" else len(value)
        if not holds(measured, bound):
            yield path, f"{words} {bound}, not {_shown(value)}"

    return keyword


_KEYWORDS: dict[str, Keyword] = {
    "required": _required,
    "properties": _properties,
    "additionalProperties": _additional,
    "propertyNames": _property_names,
    "items": _items,
    "uniqueItems": _unique,
    "pattern": _pattern,
    "enum": _enum,
    "const": lambda value, only, rules, path: _enum(value, [only], rules, path),
    "minimum": _limit("number", operator.ge, "must be at least"),
    "maximum": _limit("number", operator.le, "must be at most"),
    "exclusiveMinimum": _limit("number", operator.gt, "must be more than"),
    "minLength": _limit("string", operator.ge, "must have a length of at least"),
    "maxLength": _limit("string", operator.le, "must have a length of at most"),
    "maxItems": _limit("array", operator.le, "must have a number of items of at most"),
    "maxProperties": _limit("object", operator.le, "must have a number of fields of at most"),
}


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    if len(text) <= 80:
        return text
    return f"{text[:77]}…"
