"""Tokens of the API: issued to a person, with scopes and an end, kept as a hash, revoked at any
moment.
"""

import secrets
from collections.abc import Collection
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils import timezone

from dashboard.accounts.core.tokens import hash_token
from dashboard.language.errors import ActionNotAllowed
from dashboard.models import ApiToken, Scope

PREFIX = "cw_"  # lets a scanner of repositories know what it found
LONGEST = timedelta(days=366)
MOST = 50  # living tokens of one person
USED_GRAIN = timedelta(minutes=1)  # last_used_at is written at most this often


def issue(
    *, owner: User, scopes: Collection[str], expires_at: datetime, name: str = "unnamed"
) -> tuple[ApiToken, str]:
    """A new token and its text, which is shown this once. Raises ActionNotAllowed."""
    _refuse(owner, scopes, expires_at, name)
    text = PREFIX + secrets.token_urlsafe(32)  # 256 random bits: its hash needs no salt
    made = ApiToken.objects.create(
        owner=owner,
        name=name.strip(),
        scopes=[scope for scope in Scope.values if scope in scopes],
        expires_at=expires_at,
        token_hash=hash_token(text),
    )
    return made, text


def authenticate(text: str) -> ApiToken | None:
    """The token with this text and its `owner`, while it counts: neither expired nor revoked, its
    owner active.
    """
    now = timezone.now()
    token = living(now).select_related("owner").filter(token_hash=hash_token(text)).first()
    if token is not None and (token.last_used_at is None or token.last_used_at < now - USED_GRAIN):
        token.last_used_at = now
        token.save(update_fields=["last_used_at"])
    return token


def revoke(*, tokens: QuerySet[ApiToken]) -> int:
    """End these tokens now; how many still counted."""
    now = timezone.now()
    return tokens.filter(revoked_at=None, expires_at__gt=now).update(revoked_at=now)


def living(now: datetime) -> QuerySet[ApiToken]:
    """Tokens that let somebody in."""
    return ApiToken.objects.filter(expires_at__gt=now, revoked_at=None, owner__is_active=True)


def _refuse(owner: User, scopes: Collection[str], expires_at: datetime, name: str) -> None:
    now = timezone.now()
    if not 0 < len(name.strip()) <= 80:
        raise ActionNotAllowed(
            "Name the token after the place where it is used, in 1 to 80 letters."
        )
    if not scopes or not set(scopes) <= set(Scope.values):
        raise ActionNotAllowed(f"Choose what the token may be used for: {', '.join(Scope.values)}.")
    if not now < expires_at <= now + LONGEST:
        raise ActionNotAllowed(
            f"A token ends in the future, and after {LONGEST.days} days at most."
        )
    if living(now).filter(owner=owner).count() >= MOST:
        raise ActionNotAllowed(f"{owner} has {MOST} tokens already: revoke one first.")
