"""Remarks on the trend of a benchmark: what people know that the numbers do not tell."""

from datetime import datetime

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

from dashboard.models import Annotation, Benchmark

MOST_LETTERS = 300


class NotPossible(ValueError):
    """What was asked for cannot be done; the text says why."""


def add_remark(
    *, benchmark: Benchmark, text: str, at: datetime | None, by: AbstractBaseUser | AnonymousUser
) -> Annotation:
    """Put a remark on the time axis. Raises NotPossible."""
    text = text.strip()
    if not text:
        raise NotPossible("The remark is empty: write what others should know.")
    if len(text) > MOST_LETTERS:
        raise NotPossible(f"The remark has {len(text)} letters: {MOST_LETTERS} fit.")
    if at is None:
        raise NotPossible("Say where on the time axis it belongs, as 2026-12-31.")
    return Annotation.objects.create(benchmark=benchmark, text=text, at=at, by_id=by.pk)
