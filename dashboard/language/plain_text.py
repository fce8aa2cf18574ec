"""Text that others wrote: on a terminal it must not colour, move or hide anything. Pure."""

import re

# All but newline and tab; and what reverses or hides letters, and half of a pair of UTF-16
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff]"
)


def plain(text: str) -> str:
    """`text` without control characters."""
    return _CONTROL.sub("", text)


def plain_json(text: str) -> str:
    """A JSON document with control characters written as \\u…: it means the same."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
