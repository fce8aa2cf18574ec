"""Parameters that several endpoints have, and the 404 for a row that does not exist."""

from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from django.db.models import Model, QuerySet
from django.http import Http404
from ninja import Field
from pydantic import AfterValidator

from dashboard.language.reading import check_moment

Row = TypeVar("Row", bound=Model)


def _with_zone(at: datetime) -> datetime:
    check_moment(at)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


Text = Annotated[str, Field(max_length=300, pattern=r"^[^\x00]*$")]  # Postgres stores no NUL
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00]+$")]
Moment = Annotated[
    datetime,
    AfterValidator(_with_zone),
    Field(description="ISO 8601; without a zone it is UTC."),
]
Id = Annotated[int, Field(ge=1, lt=2**63)]
Names = Annotated[list[Name], Field(max_length=500)]


def one(rows: QuerySet[Row], what: str, **key: Any) -> Row:
    """The row with this key. Raises Http404, which names the key."""
    row = rows.filter(**key).first()
    if row is None:
        [(field, value)] = key.items()
        key_text = f"{field} {value!s:.100}"
        raise Http404(
            f"There is no {what} with {key_text}: it may have been removed, or lies elsewhere."
        )
    return row
