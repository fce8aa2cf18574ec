"""Follows issues on GitHub that are linked to alerts: open, closed, merged.

Only reads there, and only with a token (GITHUB_TOKEN). Without one GitHub answers so few questions
an hour that states would be old without saying so.
"""

import re
from dataclasses import dataclass
from datetime import datetime

import httpx
import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F

from dashboard.alerts.services import triage
from dashboard.models import IssueLink

_ISSUE = re.compile(
    r"https://github\.com/(?P<repository>[\w.-]+/[\w.-]+)/(issues|pull)/(?P<number>\d+)"
)
_MOST = 200  # links in one round; the longest unasked come first
_PATIENCE_S = 10

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class IssueState:
    """state: open, closed, merged. reason: of closing; empty where GitHub says none."""

    state: str
    reason: str


class GitHubRefuses(Exception):
    """GitHub refuses every question now: the token is wrong, or its limit is reached."""


def follow(*, now: datetime) -> int:
    """Ask for the state of every linked issue; how many have changed."""
    if not settings.GITHUB_TOKEN:
        return 0
    links = IssueLink.objects.filter(url__startswith="https://github.com/")
    oldest_first = links.order_by(F("checked_at").asc(nulls_first=True), "pk")[:_MOST]
    changed = 0
    with _client() as client:
        for link in oldest_first:
            try:
                state = _ask(client, link.url)
            except GitHubRefuses as refusal:
                logger.warning("linked issues are not followed", answer=str(refusal))
                break
            changed += _keep(link.pk, state, now)
    return changed


def _client() -> httpx.Client:
    headers = {
        "Authorization": f"Bearer {settings.GITHUB_TOKEN}",
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    return httpx.Client(headers=headers, timeout=_PATIENCE_S, follow_redirects=True)


def _ask(client: httpx.Client, url: str) -> IssueState | None:
    """The state now; None where it cannot be known. Raises GitHubRefuses."""
    match = _ISSUE.match(url)
    if match is None:
        return None
    place = f"repos/{match['repository']}/issues/{match['number']}"
    try:
        answer = client.get(f"{settings.GITHUB_API_URL}/{place}")
    except httpx.TooManyRedirects:
        return None
    except httpx.HTTPError as error:
        raise GitHubRefuses(str(error) or type(error).__name__) from None
    if _refuses_all(answer):
        raise GitHubRefuses(f"{answer.status_code} {answer.reason_phrase}")
    if answer.status_code != 200:
        return None  # deleted, or nothing that the token may read
    return _read(answer)


def _refuses_all(answer: httpx.Response) -> bool:
    """A 403 of a limit says so; without that it is of this repository, which the token may not read
    (its organization asks for single sign-on, for example).
    """
    is_limit = "retry-after" in answer.headers or answer.headers.get("x-ratelimit-remaining") == "0"
    return answer.status_code in (401, 429) or (answer.status_code == 403 and is_limit)


def _read(answer: httpx.Response) -> IssueState | None:
    try:
        document = answer.json()
        state = str(document["state"])
        merged = (document.get("pull_request") or {}).get("merged_at")
        reason = str(document.get("state_reason") or "")
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    if state not in ("open", "closed"):
        return None
    if merged:
        return IssueState("merged", "")
    return IssueState(state, reason[:40] if state == "closed" else "")


def _keep(link_id: int, state: IssueState | None, now: datetime) -> bool:
    """Store the state; whether it is another one than before, which the history then says."""
    with transaction.atomic():
        link = IssueLink.objects.select_for_update().filter(pk=link_id).first()
        if link is None:
            return False
        link.checked_at = now
        is_new = state is not None and (link.state, link.reason) != (state.state, state.reason)
        was_known = bool(link.state)
        if state is not None:
            link.state, link.reason = state.state, state.reason
        link.save(update_fields=["checked_at", "state", "reason"])
        if is_new and was_known:
            text = f"{link.url} is {link.state_in_words}."
            triage.note(group=link.group, text=text, by=None)
    return is_new
