"""What several endpoints are asked, and how they say that there is no such thing."""

from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from django.db.models import Model, QuerySet
from django.http import Http404
from ninja import Field
from pydantic import AfterValidator

Row = TypeVar("Row", bound=Model)

Text = Annotated[str, Field(max_length=300, pattern=r"^[^\x00]*$")]  # Postgres stores no NUL
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00]+$")]
Moment = Annotated[
    datetime,
    AfterValidator(lambda at: at if at.tzinfo else at.replace(tzinfo=UTC)),
    Field(description="ISO 8601; without a zone it is UTC."),
]
Id = Annotated[int, Field(ge=1, lt=2**63)]
Names = Annotated[list[Name], Field(max_length=500)]


def one(rows: QuerySet[Row], what: str, **key: Any) -> Row:
    """The row with this key. Raises Http404 with what was asked for."""
    found = rows.filter(**key).first()
    if found is None:
        [(field, value)] = key.items()
        raise Http404(
            f"There is no {what} with {field} {value!s:.100}: it may have been removed, or lies "
            "elsewhere."
        )
    return found
