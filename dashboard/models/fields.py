"""The JSON column of every model."""

from collections.abc import Sequence
from typing import Any

from django.db import models

from dashboard.language.finite_json import FiniteEncoder


class JSONField(models.JSONField):
    """Django's, in which a number that is not finite is null: Postgres refuses the whole row."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"encoder": FiniteEncoder, **options})

    def deconstruct(self) -> tuple[str, str, Sequence[Any], dict[str, Any]]:
        name, _, arguments, options = super().deconstruct()
        del options["encoder"]
        return name, "django.db.models.JSONField", arguments, options
