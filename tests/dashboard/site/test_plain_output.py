"""Whatever prints on a terminal prints the text of others without control characters."""

import re

import pytest
from django.core.management import call_command, get_commands, load_command_class
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks_suite.harness import portable_text, progress
from dashboard.language.plain_text import plain
from dashboard.local.console import print_info
from dashboard.management.site_command import SiteCommand
from dashboard.site.logs import logging_config
from runner import logs

CONTROL = re.compile("[^\n\t -~\xa0-\U0010ffff]|[\u202a-\u202e\ud800-\udfff]")
HOSTILE = (
    "[/usr/lib/x]",
    "\x1b[31m",
    "\x1b]0;title\x07",
    "a\rb",
    "\x9b2J",
    "\u202e",
    "\ud800",
    "\x00",
)
texts = st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(st.characters()))).map("".join)


class Printing(SiteCommand):
    stealth_options = ("text",)

    def handle(self, *, text: str, **_: object) -> None:
        self.stdout.write(text)
        self.stderr.write(text)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts)
def test_no_printed_text_has_control_characters(
    capsys: pytest.CaptureFixture[str], text: str
) -> None:
    print_info(text)
    progress.note(text)
    progress.answer(text)
    call_command(Printing(), text=text)
    out, err = capsys.readouterr()
    assert not CONTROL.search(out + err)


@given(texts)
def test_suite_logs_and_site_leave_out_the_same_characters(text: str) -> None:
    *_, rendered = logging_config(as_json=False)["formatters"]["structured"]["processors"]
    assert rendered(None, "info", text) == plain(text)
    assert logs.without_control(None, "info", text) == plain(text)
    assert portable_text.plain(text) == plain(text)


def test_every_command_of_the_site_prints_plain_text() -> None:
    own = [name for name, app in get_commands().items() if app == "dashboard"]
    for name in own:
        assert isinstance(load_command_class("dashboard", name), SiteCommand), name
