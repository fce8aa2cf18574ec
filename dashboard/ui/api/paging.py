"""Long lists by cursor: a row that is added while somebody reads repeats or hides no other."""

from typing import Any

import pydantic
from django.core.exceptions import ValidationError as DjangoValidationError
from django.db import DataError
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from ninja.errors import HttpError, ValidationError
from ninja.pagination import CursorPagination

MOST = 1_000  # rows in one answer
SEPARATOR = "\n"


class Pages(CursorPagination):
    """`?cursor=…&page_size=…`; `next` is the address of the next page, null on the last one.

    ordering: names of at most two columns which, together, only one row of the list has. A cursor
    holds both: ninja's own has the first alone and counts rows that share it, at most 99.
    """

    def __init__(
        self, *, ordering: tuple[str, ...] = ("-pk",), page_size: int = 100, **options: Any
    ) -> None:
        super().__init__(ordering=ordering, page_size=page_size, max_page_size=MOST, **options)

    def paginate_queryset(
        self, queryset: QuerySet[Any], pagination: Any, request: HttpRequest, **params: Any
    ) -> dict[str, Any]:
        """Raises HttpError 422 for a cursor that this list never gave."""
        try:
            answer: dict[str, Any] = super().paginate_queryset(
                queryset, pagination, request, **params
            )
        except (
            ValueError,
            DataError,
            ValidationError,
            DjangoValidationError,
            pydantic.ValidationError,
        ):
            raise HttpError(
                422,
                "query.cursor: this list gave no such cursor; "
                "begin again without one, and follow `next`.",
            ) from None
        return answer

    def _get_position(self, item: Any) -> str:
        return SEPARATOR.join(str(getattr(item, column.lstrip("-"))) for column in self.ordering)

    def _find_position(
        self, queryset: QuerySet[Any], cursor: CursorPagination.Cursor
    ) -> QuerySet[Any]:
        """The rows from the cursor's position on, itself included."""
        if cursor.p is None:
            return queryset
        values = cursor.p.split(SEPARATOR, len(self.ordering) - 1)
        beyond = Q()
        for column, value in zip(self.ordering, values, strict=True):
            name = column.lstrip("-")
            comparison = "lt" if column.startswith("-") != cursor.r else "gt"
            # The condition on the first column alone, too: an index serves it
            queryset = queryset.filter(beyond | Q(**{f"{name}__{comparison}e": value}))
            beyond = Q(**{f"{name}__{comparison}": value})
        return queryset
