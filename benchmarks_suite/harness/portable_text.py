"""Texts without the folders of this machine, so that equal findings are equal texts everywhere."""

import re

_LOCAL_FOLDERS = re.compile(
    r"""/[^\s"']*/(?:(?:site|dist)-packages/|lib/python3\.\d+/|(?=benchmarks_suite/))"""
)


def portable(text: str) -> str:
    """``text`` with its paths of libraries, Python and this suite cut to what every machine has."""
    return _LOCAL_FOLDERS.sub("", text)
