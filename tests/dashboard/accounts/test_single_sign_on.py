"""Single sign-on against a provider on this machine: whom its token names is let in, and nobody
else.
"""

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.contrib.auth.models import User
from django.test import Client, override_settings

from dashboard.accounts import single_sign_on
from tests.builders.identity_provider import Provider, provider

pytestmark = pytest.mark.django_db
CASES = (str.upper, str.lower, str.casefold)
LOOK_ALIKES = [
    (letter, of_case(letter))
    for letter in map(chr, range(128, sys.maxunicode + 1))
    for of_case in CASES
    if of_case(letter).isascii()
]
ROOT = "tests.single_sign_on_urls"


@pytest.fixture
def issuer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """A provider, and a site that has it in its settings."""
    import dashboard.urls

    with provider() as made, override_settings(**made.settings, ROOT_URLCONF=ROOT):
        urls = ModuleType(ROOT)
        urls.urlpatterns = [*single_sign_on.urlpatterns(), *dashboard.urls.urlpatterns]  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, ROOT, urls)
        yield made


def sign_in(issuer: Provider, **claims: Any) -> Client:
    """A browser that went to the provider and came back."""
    client = Client()
    query = parse_qs(urlsplit(client.get("/single-sign-on/")["Location"]).query)
    issuer.claims |= {"nonce": query["nonce"][0], **claims}
    client.get("/single-sign-on/callback/", {"code": "any", "state": query["state"][0]})
    return client


def is_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def test_somebody_new_gets_an_account_that_may_look(issuer: Provider) -> None:
    assert is_in(sign_in(issuer))
    person = User.objects.get(email="ada@example.org")
    assert [group.name for group in person.groups.all()] == ["viewer"]
    assert not person.is_staff


def test_existing_account_is_kept(issuer: Provider) -> None:
    User.objects.create_superuser("ada", email="Ada@example.org")
    assert is_in(sign_in(issuer))
    assert User.objects.get().is_superuser


@pytest.mark.parametrize(("letter", "plain"), LOOK_ALIKES)
def test_look_alike_of_an_address_opens_no_account(
    issuer: Provider, letter: str, plain: str
) -> None:
    User.objects.create_user("boss", email=f"bo{plain}@example.org")
    User.objects.create_user("other", email=f"bo{letter}@example.org")
    issuer.person["email"] = f"bo{letter}@example.org"
    assert not is_in(sign_in(issuer))
    issuer.person["email"] = f"bo{plain}@example.org"
    client = sign_in(issuer)
    assert client.session["_auth_user_id"] == str(User.objects.get(username="boss").pk)


@pytest.mark.parametrize(
    "email", [["ada@example.org"], {"a": 1}, "a" * 5000 + "@example.org", "taken@example.org", 1]
)
def test_address_that_no_new_account_can_have_is_refused(issuer: Provider, email: Any) -> None:
    User.objects.create_user("taken@example.org", email="")
    issuer.person["email"] = email
    assert not is_in(sign_in(issuer))
    assert User.objects.count() == 1


def test_unverified_address_opens_no_account(issuer: Provider) -> None:
    User.objects.create_superuser("ada", email="ada@example.org")
    issuer.person["email_verified"] = False
    assert not is_in(sign_in(issuer))


@pytest.mark.parametrize(
    "wrong",
    [
        {"aud": "another-site"},
        {"aud": ["compilewatch", "another-site"]},
        {"aud": None},
        {"azp": "another-site"},
        {"iss": "https://elsewhere.example.org"},
        {"iss": 1},
        {"nonce": "x"},
        {"exp": 1},
        {"exp": None},
        {"exp": "soon"},
        {"nbf": 2**40},
        {"sub": "2"},
        {"sub": None},
    ],
    ids=str,
)
def test_token_of_another_site_time_or_person_lets_nobody_in(
    issuer: Provider, wrong: dict[str, Any]
) -> None:
    assert not is_in(sign_in(issuer, **wrong))


@pytest.mark.parametrize("right", [{"aud": ["compilewatch"]}, {"azp": "compilewatch"}], ids=str)
def test_token_for_this_site_alone_lets_in(issuer: Provider, right: dict[str, Any]) -> None:
    assert is_in(sign_in(issuer, **right))


def test_who_is_refused_is_led_to_the_sign_in(issuer: Provider) -> None:
    client = sign_in(issuer)
    client.logout()
    query = parse_qs(urlsplit(client.get("/single-sign-on/")["Location"]).query)
    issuer.claims |= {"nonce": query["nonce"][0], "exp": 1}
    state = query["state"][0]
    answer = client.get("/single-sign-on/callback/", {"code": "any", "state": state})
    assert answer["Location"] == "/sign-in/?refused=1"


def test_a_token_that_somebody_else_signed_lets_nobody_in(issuer: Provider) -> None:
    issuer.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    assert not is_in(sign_in(issuer))


def test_a_closed_account_stays_closed(issuer: Provider) -> None:
    User.objects.create_user("ada", email="ada@example.org", is_active=False)
    assert not is_in(sign_in(issuer))


def test_without_an_issuer_there_is_no_such_address() -> None:
    assert single_sign_on.urlpatterns() == []
