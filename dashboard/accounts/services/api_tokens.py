"""Tokens of the API: issued to a person with scopes and an end, kept as a hash, revocable."""

import secrets
from collections.abc import Collection
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils import timezone

from dashboard.accounts.core.tokens import hash_token
from dashboard.language.errors import ActionNotAllowed
from dashboard.models import ApiToken, Scope

PREFIX = "cw_"  # lets scanners of repositories recognize one
MAX_LIFETIME = timedelta(days=366)
MAX_TOKENS = 50  # valid ones of one person
USED_GRAIN = timedelta(minutes=1)  # last_used_at is written at most this often


def issue(
    *, owner: User, scopes: Collection[str], expires_at: datetime, name: str = "unnamed"
) -> tuple[ApiToken, str]:
    """A new token and its text, which is shown this once. Raises ActionNotAllowed."""
    _check(owner, scopes, expires_at, name)
    text = PREFIX + secrets.token_urlsafe(32)  # 256 random bits: its hash needs no salt
    token = ApiToken.objects.create(
        owner=owner,
        name=name.strip(),
        scopes=[scope for scope in Scope.values if scope in scopes],
        expires_at=expires_at,
        token_hash=hash_token(text),
    )
    return token, text


def authenticate(text: str) -> ApiToken | None:
    """The valid token with this text, and its `owner`, or None."""
    now = timezone.now()
    token = valid_tokens(now).select_related("owner").filter(token_hash=hash_token(text)).first()
    if token is not None and (token.last_used_at is None or token.last_used_at < now - USED_GRAIN):
        token.last_used_at = now
        token.save(update_fields=["last_used_at"])
    return token


def revoke(*, tokens: QuerySet[ApiToken]) -> int:
    """End these tokens now; how many had not ended."""
    now = timezone.now()
    return tokens.filter(revoked_at=None, expires_at__gt=now).update(revoked_at=now)


def valid_tokens(now: datetime) -> QuerySet[ApiToken]:
    """Tokens that let somebody in: neither expired nor revoked, their owner active."""
    return ApiToken.objects.filter(expires_at__gt=now, revoked_at=None, owner__is_active=True)


def _check(owner: User, scopes: Collection[str], expires_at: datetime, name: str) -> None:
    """Raise ActionNotAllowed where this token cannot be issued."""
    now = timezone.now()
    if not 0 < len(name.strip()) <= 80:
        raise ActionNotAllowed(
            "Name the token after the place where it is used, in 1 to 80 letters."
        )
    if not scopes or not set(scopes) <= set(Scope.values):
        raise ActionNotAllowed(f"Choose what the token may be used for: {', '.join(Scope.values)}.")
    if not now < expires_at <= now + MAX_LIFETIME:
        raise ActionNotAllowed(
            f"A token ends in the future, and after {MAX_LIFETIME.days} days at most."
        )
    if valid_tokens(now).filter(owner=owner).count() >= MAX_TOKENS:
        raise ActionNotAllowed(f"{owner} has {MAX_TOKENS} tokens already: revoke one first.")
