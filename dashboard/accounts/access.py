"""Access to the API: with a token, signed in, and for reading a public site without either."""

from typing import cast

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest
from ninja.errors import HttpError
from ninja.security import HttpBearer
from ninja.utils import check_csrf

from dashboard.accounts.readers import NO_ROLE
from dashboard.accounts.services import api_tokens
from dashboard.models import Scope
from dashboard.ui.reading import may_read

Caller = User | AnonymousUser
WHO_ASKS = (
    "Who asks? Send a token as `Authorization: Bearer cw_…` (your account's page makes "
    "one), or sign in."
)
DOES_NOT_COUNT = (
    "This token is not valid: it has expired, was revoked, or is not a token of this site. Make "
    "another on your account's page."
)


class Access(HttpBearer):
    """Lets a caller in whose token has the scope and whose account has the permission.

    A token never allows more than its owner may. Requests of a signed-in browser need Django's CSRF
    token as forms do. The caller is then `request.auth`.
    """

    def __init__(self, scope: Scope = Scope.READ, permission: str = "") -> None:
        super().__init__()
        self.scope, self.permission = scope, permission

    def __call__(self, request: HttpRequest) -> Caller:
        caller = self._caller(request)
        if not may_read(caller):
            raise HttpError(403, NO_ROLE)
        if self.permission:
            require_permission(caller, self.permission)
        return caller

    def authenticate(self, request: HttpRequest, token: str) -> User:
        """The owner of the token."""
        valid = api_tokens.authenticate(token)
        if valid is None:
            raise HttpError(401, DOES_NOT_COUNT)
        if not valid.allows(self.scope):
            raise HttpError(
                403, f"This token has not the scope {self.scope.value}: make one that has."
            )
        return valid.owner

    def _caller(self, request: HttpRequest) -> Caller:
        kind, _, text = request.headers.get("Authorization", "").partition(" ")
        if kind.lower() == self.openapi_scheme:
            return self.authenticate(request, text.strip())
        if request.user.is_authenticated:
            if check_csrf(request):
                raise HttpError(
                    403,
                    "The CSRF token is missing: send it as X-CSRFToken, or use a token of the API.",
                )
            return request.user
        if settings.PUBLIC_READ and self.scope is Scope.READ:
            return AnonymousUser()
        raise HttpError(401, WHO_ASKS)


def require_permission(caller: Caller, permission: str, otherwise: str = "") -> None:
    """Raises HttpError 403. otherwise: what the caller can do without it, as a sentence."""
    if not caller.has_perm(permission):
        text = f"{caller} may not do this: it needs the permission {permission}. Ask an admin."
        raise HttpError(403, f"{text} {otherwise}".rstrip())


def caller_of(request: HttpRequest) -> User:
    """Return the account that asks; the permission that was needed proves that it is one."""
    return cast(User, request.auth)  # type: ignore[attr-defined]  # set by ninja


READ = Access()
ADD_RUN = Access(Scope.TRIGGER, "dashboard.add_run")
CHANGE_RUN = Access(Scope.TRIGGER, "dashboard.change_run")
TRIAGE = Access(Scope.TRIAGE, "dashboard.change_alertgroup")
POST_RESULTS = Access(Scope.WRITE, "dashboard.add_result")
# Needed besides where posted results make their track a judged one
CHANGE_TRACK = "dashboard.change_track"
