"""Remarks on the trend of a benchmark: what people know that the numbers do not tell."""

from datetime import datetime

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

from dashboard.language.errors import ActionNotAllowed
from dashboard.models import Annotation, Benchmark

MOST_LETTERS = 300


def add_remark(
    *, benchmark: Benchmark, text: str, at: datetime | None, by: AbstractBaseUser | AnonymousUser
) -> Annotation:
    """Put a remark on the time axis. Raises ActionNotAllowed."""
    text = text.strip()
    if not text:
        raise ActionNotAllowed("The remark is empty: write what others should know.")
    if len(text) > MOST_LETTERS:
        raise ActionNotAllowed(f"The remark has {len(text)} letters: {MOST_LETTERS} fit.")
    if at is None:
        raise ActionNotAllowed("Say where on the time axis it belongs, as 2026-12-31.")
    return Annotation.objects.create(benchmark=benchmark, text=text, at=at, by_id=by.pk)
