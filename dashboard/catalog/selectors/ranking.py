"""Ranking of names by how well a searched word fits: pages and the admin order their hits by it."""

from collections.abc import Sequence

from django.db.models import Case, Q, Value, When


def name_rank(words: Sequence[str], field: str) -> Case:
    """0 where a word is the whole of ``field``, 1 where one is its beginning, else 2.

    "gpt2" has gpt2 before ddp_gpt2, whatever else the two have in common with the words.
    """
    is_whole, is_beginning = Q(), Q()
    for word in words:
        is_whole |= Q(**{f"{field}__iexact": word})
        is_beginning |= Q(**{f"{field}__istartswith": word})
    return Case(When(is_whole, then=Value(0)), When(is_beginning, then=Value(1)), default=Value(2))
