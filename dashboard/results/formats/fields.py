"""Checks of what a field of a file must hold, and the error where it does not.

Read as `fields.number(value, "its name")`.
"""

import math
from collections.abc import Mapping
from typing import Any

Record = Mapping[str, Any]  # an object of a file, decoded


class Malformed(ValueError):
    """A field that cannot be used; the text names it and says what is expected."""


def number(value: Any, field_name: str) -> float:
    """A finite number, also one written as text. Raises Malformed."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise Malformed(f"{field_name} is {shown(value)}, not a number")
    try:
        result = float(value)
    except (ValueError, OverflowError):
        raise Malformed(f"{field_name} is {shown(value)}, not a number") from None
    if not math.isfinite(result):
        raise Malformed(f"{field_name} is {shown(value)}: only finite numbers can be charted")
    return result


def quantity(value: Any, field_name: str, factor: float = 1.0) -> float:
    """A time or a size, times `factor` to our unit: from 0, and still finite. Raises Malformed."""
    result = number(value, field_name) * factor
    if result < 0:
        raise Malformed(f"{field_name} is {shown(value)}: it cannot be negative")
    if not math.isfinite(result):
        raise Malformed(f"{field_name} is {shown(value)}: too large for our unit")
    return result


def whole(value: Any, field_name: str) -> int:
    """A whole number from 1. Raises Malformed."""
    result = number(value, field_name)
    if result != int(result) or not 1 <= result < 2**31:
        raise Malformed(f"{field_name} is {shown(value)}: expected a whole number from 1")
    return int(result)


def text(value: Any, field_name: str) -> str:
    """A text that is not empty. Raises Malformed."""
    if not isinstance(value, str) or not value.strip():
        raise Malformed(f"{field_name} is {shown(value)}: expected a text")
    return value.strip()


def mapping(value: Any, field_name: str) -> Record:
    """An object; missing is empty. Raises Malformed."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Malformed(f"{field_name} is {shown(value)}: expected an object")
    return value


def items(value: Any, field_name: str) -> list[Any]:
    """A list. Raises Malformed."""
    if not isinstance(value, list):
        raise Malformed(f"{field_name} is {shown(value)}: expected a list")
    return value


def shown(value: Any) -> str:
    """A value as an error names it: short."""
    full = "missing" if value is None else repr(value)
    return full if len(full) <= 60 else f"{full[:57]}..."
