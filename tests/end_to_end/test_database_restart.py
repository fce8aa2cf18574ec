"""Postgres is stopped and started under a running site: the site reports it, and recovers alone."""

import os
import signal
from collections.abc import Iterator

import pytest

from dashboard.local.embedded_postgres import EmbeddedPostgres
from tests.builders.migrated_postgres import copy_migrated_postgres
from tests.builders.servers import open_folder
from tests.builders.web_process import WebProcess, web_process


@pytest.fixture(scope="module")
def postgres() -> Iterator[EmbeddedPostgres]:
    with open_folder() as folder:
        copy_migrated_postgres(folder / "postgres")
        server = EmbeddedPostgres(folder / "postgres")
        server.start()
        yield server
        server.stop()


@pytest.fixture(scope="module")
def site(
    postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WebProcess]:
    with web_process(tmp_path_factory.mktemp("var"), postgres.url) as started:
        yield started


@pytest.fixture
def without_database(postgres: EmbeddedPostgres, site: WebProcess) -> Iterator[WebProcess]:
    """The site, whose connections have just been cut."""
    postgres.start()
    site.wait_until("/", 200)
    postgres.stop()
    yield site
    postgres.start()


@pytest.mark.parametrize("address", ["/", "/runs/", "/fleet/"])
def test_while_postgres_is_down_a_page_is_503_and_says_so(
    without_database: WebProcess, address: str
) -> None:
    answer = without_database.client.get(address)
    assert answer.status_code == 503
    assert answer.headers.get("Retry-After") == "5"
    assert "<h1>The database does not answer</h1>" in answer.text
    assert "Traceback" not in answer.text


def test_while_postgres_is_down_programs_are_told_in_json(without_database: WebProcess) -> None:
    answer = without_database.client.post(
        "/api/v1/worker/alive", headers={"Authorization": "Bearer x"}, json={}
    )
    assert answer.status_code == 503
    assert answer.json()["detail"][:29] == "The database does not answer."


def test_while_postgres_is_down_the_process_is_healthy_and_not_ready(
    without_database: WebProcess,
) -> None:
    assert without_database.client.get("/healthz").status_code == 200
    answer = without_database.client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["database"][:17] == "cannot be reached"


def test_while_postgres_hangs_readyz_says_so_within_2_seconds(
    postgres: EmbeddedPostgres, site: WebProcess
) -> None:
    postgres.start()
    site.wait_until("/readyz", 503)  # there is no broker
    assert postgres.pid is not None
    os.kill(postgres.pid, signal.SIGSTOP)
    try:
        answer = site.client.get("/readyz", timeout=2)
    finally:
        os.kill(postgres.pid, signal.SIGCONT)
    assert answer.json()["database"].startswith("does not answer within")


def test_when_postgres_is_back_the_same_process_serves_again(
    postgres: EmbeddedPostgres, without_database: WebProcess
) -> None:
    without_database.wait_until("/", 503)
    postgres.start()
    # Every thread of it: no dead connection is left
    answers = [without_database.client.get("/") for _ in range(20)]
    assert {answer.status_code for answer in answers} == {200}
    assert without_database.is_running()
