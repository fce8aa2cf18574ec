"""A row that an address names, for pages and the API alike; where there is none, a 404 that says
where such rows are listed.
"""

from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from django.http import Http404

Row = TypeVar("Row", bound=Model)

LISTS = {
    "alert": "/alerts/",
    "benchmark": "/benchmarks/",
    "bisection": "/experiments/",
    "comparison": "/experiments/",
    "run": "/runs/",
    "saved view": "/tokens/",
    "schedule": "`GET schedules`",
    "series": "`GET series`",
    "token": "/tokens/",
    "torch build": "`GET builds`",
}


def one(rows: QuerySet[Row], what: str, where: str = "", **key: Any) -> Row:
    """The row with this key. Raises Http404, which names it.

    what: the thing in words. where: what lists such things; else what LISTS says.
    """
    row = rows.filter(**key).first()
    if row is None:
        [value] = key.values()
        where = where or LISTS.get(what, "")
        rest = f"{where} lists them" if where else "it may have been removed"
        raise Http404(f"There is no {what} {value!s:.100}: {rest}.")
    return row
