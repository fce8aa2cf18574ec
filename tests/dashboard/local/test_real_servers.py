"""Servers that the user named are asked before anything starts; ours stay out of it."""

from pathlib import Path

import pytest

from dashboard.local import real_servers
from dashboard.local.embedded import ServerError
from dashboard.local.embedded_broker import EmbeddedBroker
from tests.builders.servers import running_postgres


def test_a_postgres_that_answers_is_accepted() -> None:
    with running_postgres() as url:
        real_servers.check_postgres(url)


def test_a_postgres_that_does_not_answer_is_named_with_what_to_do() -> None:
    with pytest.raises(
        ServerError, match=r"Postgres of DATABASE_URL does not answer.*without DATABASE_URL"
    ):
        real_servers.check_postgres("postgresql://127.0.0.1:1/none")


def test_a_postgres_that_is_too_old_is_refused_with_its_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(real_servers, "OLDEST_POSTGRES", 99)
    with running_postgres() as url, pytest.raises(ServerError, match="Postgres 18: 99 or later"):
        real_servers.check_postgres(url)


def test_a_broker_that_answers_is_accepted(tmp_path: Path) -> None:
    broker = EmbeddedBroker(tmp_path)
    try:
        real_servers.check_broker(broker.start())
    finally:
        broker.stop()


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", "amqp://127.0.0.1:1//", "nonsense://x"])
def test_a_broker_that_does_not_answer_is_named_with_what_to_do(url: str) -> None:
    with pytest.raises(
        ServerError, match=r"broker of BROKER_URL does not answer.*without BROKER_URL"
    ):
        real_servers.check_broker(url)
