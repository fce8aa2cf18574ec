"""Long lists by cursor: a row that is added while somebody reads repeats or hides no other."""

from typing import Any

import pydantic
from django.core.exceptions import ValidationError as DjangoValidationError
from django.db import DataError
from django.db.models import QuerySet
from django.http import HttpRequest
from ninja.errors import HttpError, ValidationError
from ninja.pagination import CursorPagination

MOST = 1_000  # rows in one answer


class Pages(CursorPagination):
    """`?cursor=…&page_size=…`; `next` is the address of the next page, null on the last one."""

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
