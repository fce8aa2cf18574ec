"""Keys in the addresses of feeds, badges and embedded charts.

Feed readers and other people's pages do not sign in: on a site that is not readable by everybody
the address carries a key of the person who copied it. The key dies with the account, or with its
password.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.crypto import constant_time_compare, salted_hmac

Arguments = ParamSpec("Arguments")
View = Callable[Arguments, HttpResponseBase]

NEEDS_KEY = (
    "This address needs a key: sign in, open the page and copy the address that is "
    "meant for other pages."
)


def key_of(user: AbstractBaseUser | AnonymousUser) -> str:
    """The key with which this person's feed readers get in; empty for who is not signed in, or
    where none is needed.
    """
    if settings.PUBLIC_READ or not isinstance(user, AbstractBaseUser):
        return ""
    return f"{user.pk}.{salted_hmac('compilewatch.feed', user.get_session_auth_hash()).hexdigest()[:40]}"


def is_key(key: str) -> bool:
    """Whether ``key`` is that of an account that is still allowed in."""
    owner = key.partition(".")[0]
    user = (
        get_user_model().objects.filter(pk=owner, is_active=True).first()
        if owner.isdecimal()
        else None
    )
    return user is not None and constant_time_compare(key, key_of(user))


def may_read(request: HttpRequest) -> bool:
    """Whether the site may be read by who asks: by everybody, who is signed in, or who has a
    person's key.
    """
    return (
        settings.PUBLIC_READ or request.user.is_authenticated or is_key(request.GET.get("key", ""))
    )


def for_readers(view: View[Arguments]) -> View[Arguments]:
    """Answers who may read the site, or has a person's key."""

    @wraps(view)
    def answer(*args: Arguments.args, **kwargs: Arguments.kwargs) -> HttpResponseBase:
        request = args[0]
        if not (isinstance(request, HttpRequest) and may_read(request)):
            return HttpResponse(NEEDS_KEY, status=403, content_type="text/plain")
        return view(*args, **kwargs)

    return login_not_required(answer)
