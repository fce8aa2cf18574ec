"""The JSON schemas that the site shares with the suite, and what they refuse."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema_rs
import orjson

SCHEMAS = Path(__file__).resolve().parents[2] / "benchmarks_suite" / "schema"
REPORTED_ERRORS = 5  # a broken writer makes hundreds of the same kind


class Refused(ValueError):
    """A delivery that cannot be taken in; the text says where and why."""


class TooLarge(Refused):
    """A delivery beyond the size limit."""


def read_schema(name: str) -> Any:
    """One of the suite's schemas, decoded."""
    return orjson.loads((SCHEMAS / name).read_bytes())


def check_schema(document: Any, validator: jsonschema_rs.Draft202012Validator, name: str) -> None:
    """Raise Refused with the path and text of the first few violations."""
    if not validator.is_valid(document):  # several times faster than making a list of no errors
        errors = list(validator.iter_errors(document))
        messages = [
            f"{_path(name, e.instance_path)}: {e.message[:300]}" for e in errors[:REPORTED_ERRORS]
        ]
        more = (
            f" (and {len(errors) - REPORTED_ERRORS} more)" if len(errors) > REPORTED_ERRORS else ""
        )
        raise Refused("; ".join(messages) + more)


def _path(name: str, steps: Sequence[str | int]) -> str:
    return name + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
