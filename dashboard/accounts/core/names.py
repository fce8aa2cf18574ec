"""The name under which wrong passwords are counted."""

from collections.abc import Mapping
from typing import Any

LONGEST = 255  # of the column of django-axes


def counted_name(request: Any, credentials: Mapping[str, str] | None = None) -> str:
    """What was typed as a name, cut to what can be stored; django-axes asks for it."""
    typed = credentials or getattr(request, "POST", {})
    return str(typed.get("username") or "")[:LONGEST]
