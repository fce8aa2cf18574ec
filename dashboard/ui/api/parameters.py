"""Parameters that several endpoints have."""

from datetime import UTC, datetime
from typing import Annotated

from ninja import Field
from pydantic import AfterValidator

from dashboard.language.reading import check_moment


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
