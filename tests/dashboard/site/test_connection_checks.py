"""A connection that was used a moment ago is not checked again."""

import threading
from typing import Any

import pytest
from django.db import connections

from dashboard.site import connection_checks
from dashboard.site.connection_checks import FRESH_S, note_use, spare_check


@pytest.fixture(autouse=True)
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread's connection as Django leaves it at the start of a request."""
    monkeypatch.setattr(connections["default"], "health_check_done", False)
    monkeypatch.setattr(connection_checks, "thread", threading.local())


def is_spared() -> bool:
    connection: Any = connections["default"]
    return bool(connection.health_check_done)


def test_connection_of_a_busy_thread_is_not_checked() -> None:
    note_use()
    spare_check()
    assert is_spared()


def test_connection_of_a_thread_that_was_idle_is_checked() -> None:
    note_use()
    connection_checks.thread.used_at -= FRESH_S
    spare_check()
    assert not is_spared()


def test_first_connection_of_a_thread_is_checked() -> None:
    spare_check()
    assert not is_spared()
