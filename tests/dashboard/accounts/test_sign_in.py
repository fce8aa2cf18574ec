"""Signing in: who guesses passwords is locked out for a while; nobody else is."""

from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.conf import settings
from django.test import Client, RequestFactory
from django.utils import timezone

from dashboard.accounts.lockout import MOST_NAMES, client_address
from tests.builders.people import viewer
from tests.builders.reading import page_text

pytestmark = pytest.mark.django_db
RIGHT = "a-rather-long-word"


@pytest.fixture(autouse=True)
def accounts() -> None:
    for name in ("ada", "bob"):
        viewer(name, password=RIGHT)


def sign_in(
    name: str = "ada",
    word: str = RIGHT,
    address: str = "/sign-in/",
    **more: Any,
) -> Any:
    return Client().post(address, {"username": name, "password": word}, **more)


def guess(times: int = settings.AXES_FAILURE_LIMIT, **where: Any) -> Any:
    return [sign_in(word="wrong", **where) for _ in range(times)][-1]


def test_the_right_password_lets_in() -> None:
    assert sign_in().status_code == 302


@pytest.mark.parametrize("address", ["/sign-in/", "/admin/login/"])
def test_guessing_passwords_locks_out(address: str) -> None:
    assert guess(address=address).status_code == 429
    assert sign_in(address=address).status_code == 429


def test_the_page_says_what_to_do() -> None:
    assert "Nobody can sign in with it from here for 15 minutes" in page_text(guess())


def test_others_are_not_locked_out() -> None:
    guess()
    assert sign_in("bob").status_code == 302


def test_the_same_account_gets_in_from_elsewhere() -> None:
    guess()
    assert sign_in(REMOTE_ADDR="192.0.2.7").status_code == 302


def test_one_password_for_many_names_locks_the_address() -> None:
    for number in range(MOST_NAMES):
        sign_in(f"name-{number}", "wrong")
    assert sign_in().status_code == 429
    assert sign_in(REMOTE_ADDR="192.0.2.7").status_code == 302


@pytest.mark.parametrize(
    ("is_https", "forwarded", "address"),
    [
        (True, "192.0.2.1, 192.0.2.9", "192.0.2.9"),  # the last is the proxy's own word
        (True, "", "127.0.0.1"),
        (True, "nonsense", "127.0.0.1"),
        (False, "192.0.2.9", "127.0.0.1"),
    ],
)
def test_address_is_what_the_proxy_says(
    rf: RequestFactory, settings: Any, is_https: bool, forwarded: str, address: str
) -> None:
    settings.IS_HTTPS = is_https
    assert client_address(rf.get("/", headers={"X-Forwarded-For": forwarded})) == address


def test_after_a_while_the_right_password_lets_in_again() -> None:
    guess()
    AccessAttempt.objects.update(
        attempt_time=timezone.now() - settings.AXES_COOLOFF_TIME - timedelta(seconds=1)
    )
    assert sign_in().status_code == 302


def test_a_few_wrong_passwords_are_forgotten_with_the_right_one() -> None:
    guess(settings.AXES_FAILURE_LIMIT - 1)
    sign_in()
    assert guess(settings.AXES_FAILURE_LIMIT - 1).status_code == 200


def test_an_administrator_lifts_the_lock(admin_client: Client) -> None:
    guess()
    chosen = {
        "action": "lift",
        "_selected_action": [AccessAttempt.objects.get().pk],
        "confirmed": "yes",
    }
    admin_client.post("/admin/axes/accessattempt/", chosen)
    assert sign_in().status_code == 302
