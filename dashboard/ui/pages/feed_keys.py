"""Keys in the addresses of feeds and badges.

Feed readers and other people's pages do not sign in: on a site that not everybody may read, the
address contains a key of the person who copied it. The key ends with the account, or when its
password changes.
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

from dashboard.language.reading import read_numbers
from dashboard.ui.reading import may_read

Arguments = ParamSpec("Arguments")
View = Callable[Arguments, HttpResponseBase]

NEEDS_KEY = (
    "This address needs a key: sign in, open the page and copy the address that is "
    "meant for other pages."
)


def key_of(user: AbstractBaseUser | AnonymousUser) -> str:
    """The key for this person's feed readers; empty where none is needed, or nobody signed in."""
    if settings.PUBLIC_READ or not isinstance(user, AbstractBaseUser):
        return ""
    signature = salted_hmac("compilewatch.feed", user.get_session_auth_hash()).hexdigest()
    return f"{user.pk}.{signature[:40]}"


def is_key(key: str) -> bool:
    """Test whether ``key`` belongs to an active account."""
    owner = read_numbers([key.partition(".")[0]])
    user = get_user_model().objects.filter(pk__in=owner, is_active=True).first()
    return user is not None and constant_time_compare(key, key_of(user)) and may_read(user)


def is_from_reader(request: HttpRequest) -> bool:
    """Test whether the request may read the site: for itself, or with a person's key."""
    return may_read(request.user) or is_key(request.GET.get("key", ""))


def for_readers(view: View[Arguments]) -> View[Arguments]:
    """Serve the view to those who may read the site, also with a person's key, and from within
    other sites' pages.
    """

    @wraps(view)
    def answer(*args: Arguments.args, **kwargs: Arguments.kwargs) -> HttpResponseBase:
        request = args[0]
        if not (isinstance(request, HttpRequest) and is_from_reader(request)):
            return HttpResponse(NEEDS_KEY, status=403, content_type="text/plain")
        response = view(*args, **kwargs)
        response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
        return response

    return login_not_required(answer)
