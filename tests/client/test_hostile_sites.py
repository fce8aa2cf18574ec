"""A site that is none, or whose texts are hostile: the command ends with 2 and a line, or prints
them as text.
"""

import json
import re
from http.server import BaseHTTPRequestHandler

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compilewatch_client import terminal
from dashboard.language.plain_text import plain_json
from tests.builders.docker_files import ROOT
from tests.builders.http_servers import Quiet, serving
from tests.builders.local_site import free_port
from tests.client.conftest import RunCommand

CASE = ("--benchmark", "mlp", "--config", "eager")
COMMANDS = (
    ("run", "2.13.0"),
    ("run", "2.13.0", "--dry-run"),
    ("watch", "1"),
    ("compare", "2.11.0", "2.13.0"),
    ("upgrade-report", "1"),
    ("gate", "--base", "2.11.0", "--new", "2.13.0"),
    ("series", "--data"),
    ("alerts",),
    ("triage", "1", "move", "to=fixed"),
    ("bisect", "2.11.0", "2.13.0", *CASE),
    ("schedules",),
    ("schedules", "--trigger", "1"),
)
ANSWERS = {
    "a page": (200, b"<!doctype html><title>Welcome</title>"),
    "a page for an error": (500, b"<h1>Internal Server Error</h1>"),
    "a redirect to itself": (302, b""),
    "no access": (401, b'{"detail": "This token is not valid"}'),
    "no right": (403, b'{"detail": "This needs\\nthe scope trigger"}'),
    "a list": (200, b"[]"),
    "a number": (200, b"5"),
    "an empty document": (200, b"{}"),
    "rows that lack fields": (200, b'{"results": [{}], "next": null}'),
    "what is not text": (200, b"\xff\xfe\x00"),
}
HOSTILE = (
    "[/usr/lib/x]",
    "[float32]",
    ":smile:",
    "\x1b[31mred",
    "a\rb",
    "\x9b2J",
    "\ud800",
    "\u202e",
)
CONTROL = re.compile("[^\n\t -~\xa0-\U0010ffff]|[\u202a-\u202e\ud800-\udfff]")


def handler(status: int, body: bytes) -> type[BaseHTTPRequestHandler]:
    class Answer(Quiet):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            self.send_header("Location", self.path)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = answer

    return Answer


@pytest.mark.parametrize("answer", ANSWERS)
def test_answer_of_no_site_is_an_error_in_one_line(compilewatch: RunCommand, answer: str) -> None:
    with serving(handler(*ANSWERS[answer])) as port:
        for command in COMMANDS:
            result = compilewatch(*command, "--url", f"http://127.0.0.1:{port}")
            assert result.code == 2, command
            assert result.out == ""
            assert result.err.startswith("compilewatch: ")
            assert result.err.count("\n") == 1, result.err


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}",
        "ftp://x",
        "http://[",
        "http://x:99999",
        "http://\x00",
        "http://é..x",
    ],
)
def test_address_of_no_site_is_an_error_in_one_line(compilewatch: RunCommand, url: str) -> None:
    result = compilewatch("alerts", "--url", url.format(port=free_port()))
    assert result.code == 2
    assert result.err.count("\n") == 1, result.err


@pytest.mark.parametrize("token", ["cw_…", "cw_a\nb", "cw a", "cw_\x1b"])
def test_token_that_cannot_be_one_is_an_error_in_one_line(
    compilewatch: RunCommand, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv("COMPILEWATCH_TOKEN", token)
    result = compilewatch("alerts", "--url", "http://127.0.0.1:9")
    assert result.code == 2
    assert result.err.startswith("compilewatch: The token has characters that no token has: copy")
    assert result.err.count("\n") == 1


texts = st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(st.characters()))).map("".join)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts)
def test_no_text_reaches_the_terminal_with_control_characters(
    capsys: pytest.CaptureFixture[str], text: str
) -> None:
    terminal.print_table(("What",), [(text,)])
    terminal.print_text(text)
    terminal.print_note(text)
    with terminal.progress(text) as show:
        show(1, 2, text)
    out, err = capsys.readouterr()
    assert not CONTROL.search(out + err)


@given(texts)
def test_json_means_the_same_without_control_characters(text: str) -> None:
    written = plain_json(json.dumps(text, ensure_ascii=False))
    assert not CONTROL.search(written)
    assert json.loads(written) == text


def test_mark_up_of_others_is_printed_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    text = "cannot open [/usr/lib/x] [float32] :smile: \x1b[31mred"
    terminal.print_table(("Why",), [(text,)])
    assert "cannot open [/usr/lib/x] [float32] :smile: [31mred" in capsys.readouterr().out


def test_commands_print_by_terminal_alone() -> None:
    for file in (ROOT / "compilewatch_client").rglob("*.py"):
        if file.name not in {"terminal.py", "__main__.py"}:
            assert not re.search(r"sys\.std|Console\(", file.read_text()), file
