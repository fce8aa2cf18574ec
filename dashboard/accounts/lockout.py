"""Wrong passwords are counted by name and address; an address that tries many names is locked."""

import ipaddress
from collections.abc import Mapping
from typing import Any

from axes.models import AccessAttempt
from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone

LONGEST = 255  # of the column of django-axes
# Wrong passwords for so many names come from nobody who mistypes: the address is locked as a whole
MOST_NAMES = 10


def counted_name(request: Any, credentials: Mapping[str, str] | None = None) -> str:
    """Return what was typed as a name, cut to the length that can be stored."""
    typed = credentials or getattr(request, "POST", {})
    return str(typed.get("username") or "")[:LONGEST]


def client_address(request: HttpRequest) -> str | None:
    """Return the client's address; behind the proxy that ends TLS, as that proxy reports it."""
    if settings.IS_HTTPS:
        forwarded = request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip()
        try:
            return str(ipaddress.ip_address(forwarded))
        except ValueError:
            pass  # a proxy that does not say
    return request.META.get("REMOTE_ADDR") or None


def lockout_parameters(source: HttpRequest | AccessAttempt, _: Any) -> list[str | list[str]]:
    """By name alone, anybody could lock out anybody else; by address alone, their neighbours."""
    address = client_address(source) if isinstance(source, HttpRequest) else source.ip_address
    recent = AccessAttempt.objects.filter(
        ip_address=address, attempt_time__gte=timezone.now() - settings.AXES_COOLOFF_TIME
    )
    names = recent.values("username").distinct().count()
    by_both: list[str | list[str]] = [["username", "ip_address"]]
    return [*by_both, "ip_address"] if names >= MOST_NAMES else by_both
