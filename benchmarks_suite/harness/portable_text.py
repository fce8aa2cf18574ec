"""Texts without the folders of this machine, so that equal findings are equal texts everywhere;
without control characters; and long ones cut where a sentence ends.
"""

import re

_LOCAL_FOLDERS = re.compile(
    r"""/[^\s"']*/(?:(?:site|dist)-packages/|lib/python3\.\d+/|(?=benchmarks_suite/))"""
)
# As dashboard/language/plain_text.py has them
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff]"
)
_SENTENCE_END = re.compile(r"[.!?](?=\s)")


def portable(text: str) -> str:
    """``text`` with its paths of libraries, Python and this suite cut to what every machine has."""
    return _LOCAL_FOLDERS.sub("", text)


def plain(text: str) -> str:
    """``text`` without control characters but newline and tab: a terminal obeys them."""
    return _CONTROL.sub("", text)


def whole_sentences(text: str, most: int) -> str:
    """``text`` in ``most`` characters: without the sentences that do not fit, or where not even the
    first one does, without the words.
    """
    if len(text) <= most:
        return text
    ends = [end.end() for end in _SENTENCE_END.finditer(text[: most + 1])]
    if ends:
        return text[: ends[-1]]
    cut = text[: most - 1]
    return f"{cut.rpartition(' ')[0] or cut}…"
