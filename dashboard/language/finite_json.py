"""JSON has neither infinities nor NaN, and Postgres takes none: they are null."""

import json
from math import isfinite
from typing import Any


def finite(value: Any) -> Any:
    """The value, with None in place of each number in it that is not finite."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(each) for each in value]
    return value


class FiniteEncoder(json.JSONEncoder):
    """Encodes numbers that are not finite as null."""

    def encode(self, o: Any) -> str:
        self.allow_nan = False
        try:
            return super().encode(o)
        except ValueError:  # there is one
            return super().encode(finite(o))
