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
    """A token with these scopes (default: all), of an owner who may do everything by default."""
    if owner is None:
        owner, _ = User.objects.get_or_create(username="ada", defaults={"is_superuser": True})
    _, text = api_tokens.issue(
        owner=owner,
        scopes=scopes or Scope.values,
        expires_at=timezone.now() + timedelta(days=1),
        name="test",
    )
    return text


class Caller:
    """A client of the API with one token; it returns parsed JSON."""

    def __init__(self, text: str) -> None:
        self.client = Client(headers={"Authorization": f"Bearer {text}"})

    def get(self, path: str, expect: int = 200, **query: Any) -> Any:
        response = self.client.get(API + path, query)
        assert response.status_code == expect, response.content
        return response.json()

    def post(self, path: str, body: Any = None, expect: int = 200) -> Any:
        if body is None:
            body = {}
        response = self.client.post(API + path, body, content_type="application/json")
        assert response.status_code == expect, response.content
        return response.json()

    def all(self, path: str, **query: Any) -> list[Any]:
        """Every row of a list, page by page."""
        page = self.get(path, **query)
        rows: list[Any] = page["results"]
        while page["next"]:
            page = self.client.get(page["next"].removeprefix("http://testserver")).json()
            rows += page["results"]
        return rows


def names(rows: Sequence[dict[str, Any]], key: str) -> list[Any]:
    return [row[key] for row in rows]
