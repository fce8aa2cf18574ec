"""The JSON schemas that the site shares with the suite, and what they refuse."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema_rs
import orjson

Document = Mapping[str, Any]  # a JSON object, decoded
SCHEMAS = Path(__file__).resolve().parents[2] / "benchmarks_suite" / "schema"
REPORTED_ERRORS = 5  # a broken writer makes hundreds of the same kind


class Refused(ValueError):
    """A document that cannot be accepted; the text says where and why."""


class TooLarge(Refused):
    """A document beyond the size limit."""


def read_schema(name: str) -> Any:
    """One of the suite's schemas, decoded."""
    return orjson.loads((SCHEMAS / name).read_bytes())


def check_schema(document: Any, validator: jsonschema_rs.Draft202012Validator, name: str) -> None:
    """Raise Refused with the path and text of the first few violations."""
    if validator.is_valid(document):  # several times faster than an empty list of errors
        return
    errors = list(validator.iter_errors(document))
    messages = []
    for error in errors[:REPORTED_ERRORS]:
        steps = [f"[{at}]" if isinstance(at, int) else f".{at}" for at in error.instance_path]
        messages.append(f"{name}{''.join(steps)}: {error.message[:300]}")
    text = "; ".join(messages)
    if len(errors) > REPORTED_ERRORS:
        text += f" (and {len(errors) - REPORTED_ERRORS} more)"
    raise Refused(text)
