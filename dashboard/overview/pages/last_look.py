"""Time of a browser's last look at the overview, in a cookie of its own: strangers look, too."""

from datetime import UTC, datetime, timedelta

from django.http import HttpRequest, HttpResponse

_COOKIE = "overview_seen"
_ONE_LOOK = timedelta(minutes=30)  # reloading a page is no new look
_KEPT_S = 90 * 24 * 3600


def last_look(request: HttpRequest, now: datetime) -> datetime | None:
    """Read when the look before this one ended; None for the first."""
    before, latest = _moments(request)
    if latest is None or now - latest > _ONE_LOOK:
        return latest
    return before


def remember(response: HttpResponse, request: HttpRequest, now: datetime) -> None:
    """Keep the end of the look before, and of this one."""
    before = last_look(request, now)
    value = ".".join(str(int(at.timestamp())) if at else "" for at in (before, now))
    response.set_cookie(
        _COOKIE, value, max_age=_KEPT_S, httponly=True, samesite="Lax", secure=request.is_secure()
    )


def _moments(request: HttpRequest) -> tuple[datetime | None, datetime | None]:
    """The end of the look before the latest, and of the latest."""
    before, _, latest = request.COOKIES.get(_COOKIE, "").partition(".")
    return _moment(before), _moment(latest)


def _moment(text: str) -> datetime | None:
    if not (text.isdecimal() and text.isascii() and len(text) <= 10):
        return None  # somebody else wrote it
    return datetime.fromtimestamp(int(text), UTC)
