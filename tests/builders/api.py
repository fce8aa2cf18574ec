"""A caller of the API with a token of its own."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dashboard.accounts.services import api_tokens
from dashboard.models import Scope

API = "/api/v1/"


def token(*scopes: str, owner: User | None = None) -> str:
    """A token of an operator who may do everything, unless told otherwise; with every scope, unless
    told.
    """
    who = owner or User.objects.get_or_create(username="ada", defaults={"is_superuser": True})[0]
    ends = timezone.now() + timedelta(days=1)
    return api_tokens.issue(owner=who, scopes=scopes or Scope.values, expires_at=ends, name="test")[
        1
    ]


class Caller:
    """Asks the API with one token; answers are parsed JSON."""

    def __init__(self, text: str) -> None:
        self.client = Client(headers={"Authorization": f"Bearer {text}"})

    def get(self, path: str, expect: int = 200, **query: Any) -> Any:
        answer = self.client.get(API + path, query)
        assert answer.status_code == expect, answer.content
        return answer.json()

    def post(self, path: str, body: Any = None, expect: int = 200) -> Any:
        answer = self.client.post(
            API + path, body if body is not None else {}, content_type="application/json"
        )
        assert answer.status_code == expect, answer.content
        return answer.json()

    def all(self, path: str, **query: Any) -> list[Any]:
        """Every row of a list, page by page."""
        rows: list[Any] = []
        found = self.get(path, **query)
        rows += found["results"]
        while found["next"]:
            found = self.client.get(found["next"].removeprefix("http://testserver")).json()
            rows += found["results"]
        return rows


def names(rows: Sequence[dict[str, Any]], key: str) -> list[Any]:
    return [row[key] for row in rows]
