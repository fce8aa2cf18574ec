"""API tokens: shown once, kept as a hash, scoped, ending, revoked at once; each person has their
own.
"""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dashboard.accounts.services import api_tokens
from dashboard.accounts.services.api_tokens import authenticate
from dashboard.language.errors import ActionNotAllowed
from dashboard.models import ApiToken, Scope
from tests.builders.people import viewer
from tests.builders.reading import page_text, text

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def ada() -> User:
    return viewer("ada")


def issue(
    owner: User, *scopes: str, lasting: timedelta = DAY, name: str = "ci"
) -> tuple[ApiToken, str]:
    return api_tokens.issue(
        owner=owner, scopes=scopes or ["read"], expires_at=timezone.now() + lasting, name=name
    )


def revoke_all() -> int:
    return api_tokens.revoke(tokens=ApiToken.objects.all())


def test_a_token_lets_its_owner_in(ada: User) -> None:
    token = authenticate(issue(ada, "triage", "read")[1])
    assert token is not None
    assert token.owner == ada
    assert token.scopes == ["read", "triage"]
    assert token.allows(Scope.TRIAGE)
    assert not token.allows(Scope.WRITE)


def test_text_of_a_token_is_stored_nowhere(ada: User) -> None:
    token, secret = issue(ada)
    assert secret not in str(ApiToken.objects.filter(pk=token.pk).values())


@pytest.mark.parametrize("wrong", ["", "cw_", "cw_" + "x" * 43])
def test_another_text_lets_nobody_in(ada: User, wrong: str) -> None:
    issue(ada)
    assert authenticate(wrong) is None


def test_an_expired_token_lets_nobody_in(ada: User) -> None:
    token, secret = issue(ada)
    ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now())
    assert authenticate(secret) is None


def test_a_revoked_token_lets_nobody_in(ada: User) -> None:
    secret = issue(ada)[1]
    assert revoke_all() == 1
    assert authenticate(secret) is None


def test_the_token_of_a_closed_account_lets_nobody_in(ada: User) -> None:
    secret = issue(ada)[1]
    User.objects.update(is_active=False)
    assert authenticate(secret) is None


def test_use_of_a_token_is_recorded(ada: User) -> None:
    token, secret = issue(ada)
    authenticate(secret)
    token.refresh_from_db()
    assert token.last_used_at is not None


@pytest.mark.parametrize(
    ("wrong", "about"),
    [
        ({"scopes": ["admin"]}, "Choose what"),
        ({"scopes": []}, "Choose what"),
        ({"name": " "}, "Name the token"),
        ({"expires_at": timezone.now() - DAY}, "in the future"),
        ({"expires_at": timezone.now() + 500 * DAY}, "after 366 days"),
    ],
)
def test_invalid_token_request_is_refused(
    ada: User,
    wrong: dict[str, object],
    about: str,
) -> None:
    right = {
        "owner": ada,
        "scopes": ["read"],
        "expires_at": timezone.now() + DAY,
        "name": "ci",
    }
    with pytest.raises(ActionNotAllowed, match=about):
        api_tokens.issue(**{**right, **wrong})  # type: ignore[arg-type]


def test_the_page_shows_a_new_token_once(reader: Client) -> None:
    shown = page_text(
        reader.post(
            "/tokens/",
            {
                "name": "ci",
                "days": "30",
                "scope": ["read", "write"],
            },
        )
    )
    match = re.search(r">(cw_[\w-]{43})<", shown)
    assert match
    token = authenticate(match[1])
    assert token
    assert token.scopes == ["read", "write"]
    assert match[1] not in text(reader, "/tokens/")


def test_the_page_says_what_is_wrong(reader: Client) -> None:
    shown = page_text(
        reader.post(
            "/tokens/",
            {
                "name": "ci",
                "days": "9999",
                "scope": ["read"],
            },
        )
    )
    assert "A token ends in the future" in shown


def test_a_person_revokes_their_own_token(reader: Client) -> None:
    token = issue(User.objects.get(username="reader"))[0]
    reader.post(f"/tokens/{token.pk}/revoke")
    assert "revoked" in text(reader, "/tokens/")


def test_nobody_sees_or_revokes_another_persons_token(reader: Client, ada: User) -> None:
    token, secret = issue(ada, name="adas own")
    assert reader.post(f"/tokens/{token.pk}/revoke").status_code == 404
    assert "adas own" not in text(reader, "/tokens/")
    assert authenticate(secret)


def test_administrator_revokes_anybodys_token(operator: Client, ada: User) -> None:
    token, secret = issue(ada)
    chosen = {"action": "revoke", "_selected_action": [token.pk], "confirmed": "yes"}
    operator.post("/admin/dashboard/apitoken/", chosen)
    assert authenticate(secret) is None
