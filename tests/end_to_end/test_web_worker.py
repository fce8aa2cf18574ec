"""Readers, slow clients and too large bodies, against the site as gunicorn serves it."""

import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import httpx
import psycopg
import pytest

from dashboard.accounts.core.tokens import hash_token
from dashboard.site.web_connection import BODY_BYTES, PATIENCE_S
from dashboard.site.web_worker import HEAD_S, MOST, MOST_CONNECTIONS, MOST_WAITING_BYTES
from tests.builders.local_site import ROOT
from tests.builders.servers import running_postgres
from tests.builders.web_process import WebProcess, web_process

PLOTLY = ROOT / "dashboard/static/plotly/plotly-basic.min.js"
PROCESSES = 2
PATHS = (b"/runs/", b"/", b"/api/v1/benchmarks")
WORKER = "/api/v1/worker/alive"
RESULT = "/api/v1/worker/jobs/00000000-0000-4000-8000-000000000000"
LIMIT_MIB = 32  # of a result


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with running_postgres() as url:
        yield url


@pytest.fixture(scope="module")
def site(database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebProcess]:
    with web_process(tmp_path_factory.mktemp("var"), database) as started:
        yield started


def connect(site: WebProcess, sent: bytes, receive_buffer: int = 65536) -> socket.socket:
    url = site.client.base_url
    client = socket.socket()
    client.settimeout(HEAD_S + 5)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    client.connect((url.host, url.port or 80))
    client.sendall(sent)
    return client


def is_closed(client: socket.socket) -> bool:
    """Once something comes: the end, or a reset."""
    try:
        return client.recv(100) == b""
    except ConnectionResetError:
        return True


def test_half_open_requests_take_no_thread(site: WebProcess) -> None:
    with ExitStack() as stack:
        for _ in range(32):
            stack.enter_context(connect(site, b"GET / HTTP/1.1\r\nHost: local"))
        for _ in range(20):
            assert httpx.get(f"{site.client.base_url}/healthz", timeout=2).status_code == 200


def test_half_open_request_is_closed_in_time(site: WebProcess) -> None:
    with connect(site, b"GET / HTTP/1.1\r\nHost: local") as client:
        assert is_closed(client)


def test_request_in_pieces_is_answered(site: WebProcess) -> None:
    with connect(site, b"GET /healthz HTTP/1.1\r\nHo") as client:
        for piece in (b"st: localhost\r", b"\n\r", b"\nGET /healthz HTTP/1.1\r\n"):
            time.sleep(0.1)
            client.sendall(piece)
        assert client.recv(1000).startswith(b"HTTP/1.1 200")
        client.sendall(b"Host: localhost\r\n\r\n")
        assert client.recv(1000)


def test_client_that_leaves_before_its_head_is_complete_is_dropped(site: WebProcess) -> None:
    with connect(site, b"GET / HTTP/1.1\r\nHost: local") as client:
        client.shutdown(socket.SHUT_WR)
        client.settimeout(2)
        assert is_closed(client)


def slow_bodies(site: WebProcess, stack: ExitStack, number: int) -> list[socket.socket]:
    """So many requests of which one byte of the body has come."""
    head = b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"
    paths = (b"/api/v1/runs/plan", b"/sign-in/", WORKER.encode())
    sent = [head % paths[place % len(paths)] for place in range(number)]
    return [stack.enter_context(connect(site, each)) for each in sent]


def test_slow_bodies_take_no_thread(site: WebProcess) -> None:
    with ExitStack() as stack:
        slow_bodies(site, stack, 64)
        for _ in range(20):
            assert httpx.get(f"{site.client.base_url}/runs/", timeout=5).status_code == 200
        assert httpx.post(f"{site.client.base_url}{WORKER}", json={}, timeout=5).status_code == 401


def test_body_in_pieces_is_answered(site: WebProcess) -> None:
    with ExitStack() as stack:
        [client, *_] = slow_bodies(site, stack, 1)
        for _ in range(3):
            time.sleep(0.1)
            client.sendall(b" " * 333)
        assert client.recv(1000).startswith(b"HTTP/1.1 400")


def test_connections_that_wait_longest_make_room_for_others(site: WebProcess) -> None:
    with ExitStack() as stack:
        waiting = slow_bodies(site, stack, PROCESSES * MOST_CONNECTIONS + 20)
        assert httpx.get(f"{site.client.base_url}/runs/", timeout=5).status_code == 200
        [closed, *_], _, _ = select.select(waiting, [], [], 5)
        assert is_closed(closed)


def test_client_that_does_not_take_its_answer_is_closed(site: WebProcess) -> None:
    length = PLOTLY.stat().st_size
    with connect(site, b"", receive_buffer=4096) as client:
        client.sendall(b"GET /static/plotly/%b HTTP/1.0\r\n\r\n" % PLOTLY.name.encode())
        time.sleep(PATIENCE_S + 3)
        with suppress(ConnectionResetError):
            length -= sum(map(len, iter(lambda: client.recv(65536), b"")))
    assert length > 0


def test_downloads_take_no_thread_of_pages(site: WebProcess, database: str) -> None:
    request = b"GET /export/data.jsonl HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with psycopg.connect(database) as lock, ExitStack() as stack:
        lock.execute("LOCK TABLE dashboard_datum")
        number = PROCESSES * MOST["downloads"] + 8
        clients = [stack.enter_context(connect(site, request)) for _ in range(number)]
        for _ in range(20):
            assert httpx.get(f"{site.client.base_url}/sign-in/", timeout=5).status_code == 200
        answered, _, _ = select.select(clients, [], [], 0)
        assert len(answered) >= 8
        assert all(each.recv(100).startswith(b"HTTP/1.1 503") for each in answered)
        lock.rollback()


def test_chunked_body_is_411(site: WebProcess) -> None:
    answer = site.client.post("/api/v1/runs/plan", content=iter([b"{}"]))
    assert answer.status_code == 411
    assert "Content-Length" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("path", "mib"), [("/sign-in/", 5), ("/api/v1/runs/plan", 5), (f"{RESULT}/artifacts/a", 70)]
)
def test_too_large_body_is_413_and_the_connection_ends(
    site: WebProcess, path: str, mib: int
) -> None:
    answer = site.client.post(path, content=b"x" * mib * 2**20)
    assert answer.status_code == 413
    assert answer.headers["Connection"] == "close"
    assert site.client.get("/healthz").status_code == 200


def test_upload_without_a_token_is_refused_before_its_body_comes(site: WebProcess) -> None:
    head = b"POST /api/v1/results HTTP/1.1\r\nHost: localhost\r\nContent-Length: 65000000\r\n\r\n"
    with connect(site, head) as client:
        assert client.recv(1000).startswith(b"HTTP/1.1 401")


def test_upload_with_a_token_outlasts_bodies_without(site: WebProcess) -> None:
    head = b"POST /api/v1/results HTTP/1.1\r\nHost: localhost\r\n%bContent-Length: %d\r\n\r\n"
    anonymous = head % (b"", BODY_BYTES) + b"x" * (BODY_BYTES - 1)
    with ExitStack() as stack:
        token = b"Authorization: Bearer wrong\r\n"
        upload = stack.enter_context(connect(site, head % (token, 2**20) + b"x"))
        for _ in range(PROCESSES * MOST_WAITING_BYTES // BODY_BYTES + 32):
            stack.enter_context(connect(site, anonymous))
        upload.sendall(b"x" * (2**20 - 1))
        assert upload.recv(1000).startswith(b"HTTP/1.1 401")


def test_body_that_nobody_read_leaves_the_connection_usable(
    site: WebProcess, worker_token: str
) -> None:
    with httpx.Client(base_url=site.client.base_url, timeout=60) as client:
        headers = {"Authorization": "Bearer wrong"}
        body = b"x" * 8 * 2**20
        assert client.post(f"{RESULT}/result", content=body, headers=headers).status_code == 401
        headers = {"Authorization": f"Bearer {worker_token}"}
        body = b"x" * (LIMIT_MIB + 8) * 2**20
        assert client.post(f"{RESULT}/result", content=body, headers=headers).status_code == 413
        assert client.post(WORKER, json={}, headers=headers).status_code == 422


def test_client_that_asks_first_is_invited_to_send_its_body(site: WebProcess) -> None:
    head = b"POST /api/v1/runs/plan HTTP/1.1\r\nHost: localhost\r\n"
    with connect(site, head + b"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n") as client:
        assert client.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"{}")
        assert client.recv(1000).startswith(b"HTTP/1.1 422")


@pytest.mark.parametrize(
    "lengths",
    [b"Content-Length: 5\r\nContent-Length: 6", b"Content-Length: +5", b"Content-Length : 5"],
)
def test_length_that_can_be_read_in_two_ways_ends_the_connection(
    site: WebProcess, lengths: bytes
) -> None:
    hidden = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    request = b"POST /sign-in/ HTTP/1.1\r\nHost: localhost\r\n%b\r\n\r\n" % lengths
    with connect(site, request + hidden) as client:
        answer = b"".join(iter(lambda: client.recv(4000), b""))
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"ok" not in answer


@pytest.mark.parametrize("header", ["SCRIPT_NAME", "PATH_INFO", "REMOTE_USER"])
@pytest.mark.parametrize("value", ["/alerts", "/evil"])
def test_header_does_not_say_which_page_is_asked_for(
    site: WebProcess, header: str, value: str
) -> None:
    answer = site.client.get("/alerts/", headers={header: value})
    assert answer.status_code == 200
    assert "<title>Alerts" in answer.text
    assert "/alerts/alerts/" not in answer.text


@pytest.fixture
def worker_token(site: WebProcess, database: str) -> str:
    with psycopg.connect(database) as connection:
        connection.execute(
            "INSERT INTO dashboard_machine (key, label, device_kind, default_size, created_at)"
            " VALUES ('m', 'M', 'cpu', 'smoke', now())"
        )
        connection.execute(
            "INSERT INTO dashboard_worker"
            " (name, machine_id, token_hash, boot_id, device, facts, paused, created_at)"
            " SELECT 'w', id, %s, '', '', '{}', false, now() FROM dashboard_machine",
            [hash_token("secret")],
        )
    return "secret"


@pytest.fixture(scope="module")
def refused(site: WebProcess, database: str) -> Iterator[list[bytes]]:
    """As many readers as the site lets in wait for locked tables; what the 20 others are told."""
    with psycopg.connect(database) as lock, ExitStack() as stack:
        lock.execute("LOCK TABLE dashboard_run, dashboard_benchmark")
        readers = []
        for number in range(PROCESSES * MOST["readers"] + 20):
            request = b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % PATHS[number % len(PATHS)]
            readers.append(stack.enter_context(connect(site, request)))
        time.sleep(1)
        answered, _, _ = select.select(readers, [], [], 0)
        yield [reader.recv(2000) for reader in answered]
        lock.rollback()


def test_workers_are_answered_while_readers_take_all_their_threads(
    site: WebProcess, refused: list[bytes]
) -> None:
    for _ in range(20):
        assert httpx.post(f"{site.client.base_url}{WORKER}", json={}, timeout=5).status_code == 401


def test_probe_is_answered_while_readers_take_all_their_threads(
    site: WebProcess, refused: list[bytes]
) -> None:
    assert httpx.get(f"{site.client.base_url}/healthz", timeout=5).text == "ok\n"


def test_readers_too_many_are_503_and_may_come_back(refused: list[bytes]) -> None:
    assert len(refused) >= 20
    assert all(answer.startswith(b"HTTP/1.1 503") for answer in refused)
    assert all(b"\r\nRetry-After: 5\r\n" in answer for answer in refused)


def test_program_too_many_is_503_in_json(refused: list[bytes]) -> None:
    assert any(b'{"detail": "Too many requests.' in answer for answer in refused)
