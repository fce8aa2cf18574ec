"""The base of the site's commands: what they print of a worker or a file is plain text."""

import sys
from typing import Any, TextIO

from django.core.management.base import BaseCommand

from dashboard.language.plain_text import plain


class PlainStream:
    """A stream that gets no control characters."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        return self._stream.write(plain(text))


class SiteCommand(BaseCommand):
    """A command of manage.py."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        for name in ("stdout", "stderr"):
            options[name] = PlainStream(options.get(name) or getattr(sys, name))
        return super().execute(*args, **options)
