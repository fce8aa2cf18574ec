"""Issues that are linked to an alert: their state on GitHub, read from a real server."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from dashboard.alerts.services import issue_states, triage
from dashboard.models import AlertGroup, IssueLink
from tests.builders import alerting
from tests.builders.http_servers import Quiet, serving

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
ISSUE = "https://github.com/pytorch/pytorch/issues/7"
OPEN: dict[str, Any] = {"state": "open", "state_reason": None}
DONE: dict[str, Any] = {"state": "closed", "state_reason": "completed"}


class GitHub(Quiet):
    """Answers what `documents` has for a path, else 404; status, headers: to everything."""

    documents: dict[str, dict[str, Any]] = {}
    status = 200
    headers_sent: dict[str, str] = {}
    calls: list[tuple[str, str]] = []

    def do_GET(self) -> None:
        self.calls.append((self.path, self.headers["Authorization"]))
        document = self.documents.get(self.path)
        self.send_response(self.status if document else 404)
        for name, value in self.headers_sent.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(json.dumps(document or {}).encode())


@pytest.fixture
def github(settings: Any) -> Iterator[type[GitHub]]:
    GitHub.documents, GitHub.calls, GitHub.status, GitHub.headers_sent = {}, [], 200, {}
    settings.GITHUB_TOKEN = "a-token"
    with serving(GitHub) as port:
        settings.GITHUB_API_URL = f"http://127.0.0.1:{port}"
        yield GitHub


def linked(url: str = ISSUE) -> AlertGroup:
    group = alerting.group()
    triage.link_issue(group=group, url=url, by=None)
    return group


def says(github: type[GitHub], document: dict[str, Any]) -> None:
    github.documents = {"/repos/pytorch/pytorch/issues/7": document}


def test_state_of_a_linked_issue_is_read_with_the_token(github: type[GitHub]) -> None:
    linked()
    says(github, OPEN)
    assert issue_states.follow(now=NOW) == 1
    assert github.calls == [("/repos/pytorch/pytorch/issues/7", "Bearer a-token")]
    assert IssueLink.objects.get().state_in_words == "open"


def test_closing_is_an_event_of_the_alert(github: type[GitHub]) -> None:
    group = linked()
    for document in (OPEN, DONE):
        says(github, document)
        issue_states.follow(now=NOW)
    texts = [event.text for event in group.events.filter(action="note")]
    assert texts == [f"{ISSUE} is closed as completed."]


def test_same_state_again_leaves_no_event(github: type[GitHub]) -> None:
    group = linked()
    says(github, OPEN)
    assert [issue_states.follow(now=NOW) for _ in range(2)] == [1, 0]
    assert not group.events.filter(action="note").exists()


def test_merged_pull_request_is_merged(github: type[GitHub]) -> None:
    linked("https://github.com/pytorch/pytorch/pull/7")
    says(github, {"state": "closed", "pull_request": {"merged_at": "2026-11-22T00:00:00Z"}})
    issue_states.follow(now=NOW)
    assert IssueLink.objects.get().state == "merged"


def test_without_a_token_nothing_is_asked(github: type[GitHub], settings: Any) -> None:
    linked()
    settings.GITHUB_TOKEN = ""
    issue_states.follow(now=NOW)
    assert github.calls == []


def test_link_to_another_site_is_not_asked_about(github: type[GitHub]) -> None:
    linked("https://example.org/pytorch/pytorch/issues/7")
    issue_states.follow(now=NOW)
    assert github.calls == []


def test_deleted_issue_keeps_its_last_state(github: type[GitHub]) -> None:
    linked()
    says(github, OPEN)
    issue_states.follow(now=NOW)
    github.documents = {}
    issue_states.follow(now=NOW)
    assert IssueLink.objects.get().state == "open"


@pytest.mark.parametrize(
    ("status", "headers", "calls"),
    [
        (401, {}, 1),
        (429, {}, 1),
        (403, {"x-ratelimit-remaining": "0"}, 1),
        (403, {"Retry-After": "60"}, 1),
        (403, {"x-ratelimit-remaining": "4999"}, 2),
        (302, {"Location": "/repos/pytorch/pytorch/issues/7"}, 2 * 21),
    ],
)
def test_round_ends_where_every_question_is_refused_not_where_one_is(
    github: type[GitHub], status: int, headers: dict[str, str], calls: int
) -> None:
    linked()
    linked()
    says(github, OPEN)
    github.status, github.headers_sent = status, headers
    issue_states.follow(now=NOW)
    assert len(github.calls) == calls
    assert IssueLink.objects.filter(checked_at=NOW).count() == (0 if calls == 1 else 2)


def test_alert_shows_the_state(github: type[GitHub], reader: Client) -> None:
    group = linked()
    says(github, DONE)
    issue_states.follow(now=NOW)
    assert "closed as completed" in reader.get(group.get_absolute_url()).text
