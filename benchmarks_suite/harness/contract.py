"""Checks a document against one of our two schemas, with the standard library alone.

It reads the subset of JSON Schema (draft 2020-12) that schema/*.json use and refuses a schema that
uses more, so that it can never silently accept what the schema forbids. ``format`` is an annotation
there and is not checked here either.
"""

import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

SCHEMA_FOLDER = Path(__file__).parent.parent / "schema"
_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        not isinstance(value, bool)
        and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
    ),
}
_ANNOTATIONS = frozenset({"$schema", "$id", "title", "default", "format"})


class ContractError(ValueError):
    """The document breaks its contract; the text names each field and what is allowed there."""


@lru_cache
def schema(name: str) -> dict[str, Any]:
    """The schema ``name`` (``job.v1`` or ``result.v1``)."""
    document: dict[str, Any] = json.loads(
        (SCHEMA_FOLDER / f"{name}.json").read_text(encoding="utf-8")
    )
    return document


def read_json(text: str) -> Any:
    """Parses JSON; NaN and Infinity, which Python would accept, are refused with ValueError."""

    def refuse(word: str) -> None:
        raise ValueError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def check(document: Any, name: str) -> None:
    """Raises ContractError naming up to ten fields of ``document`` that break the schema
    ``name``.
    """
    problems = [
        f"{path or 'document'}: {text}" for path, text in _problems(document, schema(name), "")
    ]
    if problems:
        raise ContractError("; ".join(problems[:10]))


def with_defaults(document: dict[str, Any], rules: dict[str, Any]) -> dict[str, Any]:
    """A copy of a valid ``document`` in which every field that has a default in ``rules`` is
    present.
    """
    filled = dict(document)
    for key, rule in rules.get("properties", {}).items():
        if "default" in rule:
            filled.setdefault(key, rule["default"])
        elif (
            rule.get("type") == "object"
            and "properties" in rule
            and (key in filled or "required" not in rule)
        ):
            filled[key] = with_defaults(filled.get(key, {}), rule)
    return filled


Problem = tuple[str, str]


def _problems(value: Any, rules: dict[str, Any], path: str) -> Iterator[Problem]:
    kinds = rules.get("type")
    if kinds and not any(
        _TYPES[kind](value) for kind in ([kinds] if isinstance(kinds, str) else kinds)
    ):
        yield path, f"must be {_words(kinds)}, not {_shown(value)}"
        return
    for keyword, rule in rules.items():
        if keyword in _KEYWORDS:
            yield from _KEYWORDS[keyword](value, rule, rules, path)
        elif keyword not in _ANNOTATIONS and keyword != "type":
            raise NotImplementedError(
                f"schema keyword {keyword!r} at {path or 'document'}: teach it to "
                "harness/contract.py"
            )


def _required(value: Any, names: list[str], rules: Any, path: str) -> Iterator[Problem]:
    if isinstance(value, dict):
        yield from ((_join(path, name), "is missing") for name in names if name not in value)


def _properties(value: Any, fields: dict[str, Any], rules: Any, path: str) -> Iterator[Problem]:
    if isinstance(value, dict):
        for name, rule in fields.items():
            if name in value:
                yield from _problems(value[name], rule, _join(path, name))


def _additional(value: Any, rule: Any, rules: Any, path: str) -> Iterator[Problem]:
    if not isinstance(value, dict):
        return
    known = rules.get("properties", {})
    for name in value:
        if name not in known and rule is False:
            yield _join(path, name), f"is not a field; the fields are {', '.join(sorted(known))}"
        elif name not in known and isinstance(rule, dict):
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
    if (
        isinstance(value, list)
        and rule
        and any(item in value[:index] for index, item in enumerate(value))
    ):
        yield path, "must not hold the same thing twice"


def _pattern(value: Any, pattern: str, rules: Any, path: str) -> Iterator[Problem]:
    if isinstance(value, str) and not re.search(pattern.replace("$", r"\Z"), value):
        yield path, f"must match {pattern}, not {_shown(value)}"


def _one_of(value: Any, allowed: list[Any], rules: Any, path: str) -> Iterator[Problem]:
    if not any(
        value == choice and isinstance(value, bool) == isinstance(choice, bool)
        for choice in allowed
    ):
        yield path, f"must be {' or '.join(map(str, allowed))}, not {_shown(value)}"


def _limit(
    kinds: str | tuple[str, ...],
    measured: Callable[[Any], Any],
    holds: Callable[[Any, Any], bool],
    words: str,
) -> Any:
    """A keyword that bounds a number or a length."""

    def keyword(value: Any, bound: float, rules: Any, path: str) -> Iterator[Problem]:
        if any(
            _TYPES[kind](value) for kind in ([kinds] if isinstance(kinds, str) else kinds)
        ) and not holds(measured(value), bound):
            yield path, f"{words} {bound}, not {_shown(value)}"

    return keyword


_KEYWORDS: dict[str, Callable[[Any, Any, Any, str], Iterator[Problem]]] = {
    "required": _required,
    "properties": _properties,
    "additionalProperties": _additional,
    "propertyNames": _property_names,
    "items": _items,
    "uniqueItems": _unique,
    "pattern": _pattern,
    "enum": _one_of,
    "const": lambda value, rule, rules, path: _one_of(value, [rule], rules, path),
    "minimum": _limit("number", lambda v: v, lambda v, bound: v >= bound, "must be at least"),
    "maximum": _limit("number", lambda v: v, lambda v, bound: v <= bound, "must be at most"),
    "exclusiveMinimum": _limit(
        "number", lambda v: v, lambda v, bound: v > bound, "must be more than"
    ),
    "minLength": _limit(
        "string", len, lambda v, bound: v >= bound, "must have a length of at least"
    ),
    "maxLength": _limit(
        "string", len, lambda v, bound: v <= bound, "must have a length of at most"
    ),
    "maxItems": _limit(
        "array", len, lambda v, bound: v <= bound, "must have a number of items of at most"
    ),
    "maxProperties": _limit(
        "object", len, lambda v, bound: v <= bound, "must have a number of fields of at most"
    ),
}


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _words(kinds: str | list[str]) -> str:
    return kinds if isinstance(kinds, str) else " or ".join(kinds)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:77]}…"
