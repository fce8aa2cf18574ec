"""Servers that the user named are checked before anything starts."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dashboard.local import external_servers
from dashboard.local.embedded import ServerError
from dashboard.local.embedded_broker import EmbeddedBroker
from tests.builders.servers import address


def refusal(check: Callable[[str], None], url: str) -> str:
    """Return why the check refuses the server; empty where it accepts it."""
    try:
        check(url)
    except ServerError as error:
        return str(error)
    return ""


def test_postgres_that_answers_is_accepted(db: None) -> None:
    assert refusal(external_servers.check_postgres, address()) == ""


def test_postgres_that_does_not_answer_is_reported_with_what_to_do() -> None:
    with pytest.raises(
        ServerError, match=r"Postgres of DATABASE_URL does not answer.*without DATABASE_URL"
    ):
        external_servers.check_postgres("postgresql://127.0.0.1:1/none")


def test_old_postgres_is_refused_with_its_version(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external_servers, "OLDEST_POSTGRES", 99)
    with pytest.raises(ServerError, match=r"Postgres \d+: 99 or later"):
        external_servers.check_postgres(address())


def test_broker_that_answers_is_accepted(tmp_path: Path) -> None:
    broker = EmbeddedBroker(tmp_path)
    try:
        assert refusal(external_servers.check_broker, broker.start()) == ""
    finally:
        broker.stop()


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", "amqp://127.0.0.1:1//", "nonsense://x"])
def test_broker_that_does_not_answer_is_reported_with_what_to_do(url: str) -> None:
    with pytest.raises(
        ServerError, match=r"broker of BROKER_URL does not answer.*without BROKER_URL"
    ):
        external_servers.check_broker(url)
