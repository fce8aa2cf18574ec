"""Signing in with OpenID Connect, where OIDC_ISSUER is set: mozilla-django-oidc and more checks.

Let in are people whom the issuer knows by a mail address that it has verified. An account with
that address is theirs; somebody new gets one with the role OIDC_ROLE.
"""

from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.core.exceptions import SuspiciousOperation, ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Collate, Lower
from django.http import HttpRequest
from django.urls import URLPattern, path
from jwt import PyJWTError
from mozilla_django_oidc.auth import OIDCAuthenticationBackend
from mozilla_django_oidc.views import OIDCAuthenticationCallbackView, OIDCAuthenticationRequestView
from requests import RequestException

from dashboard.accounts.services.roles import Role, assign

# IntegrityError: another account has the address as its name. Below: an answer of another form
REFUSED = (
    *(SuspiciousOperation, PyJWTError, RequestException, IntegrityError),
    *(AttributeError, LookupError, TypeError, ValueError),
)

MOST_CHARACTERS = 254  # of an account's address

logger = structlog.get_logger(__name__)


class SingleSignOn(OIDCAuthenticationBackend):
    """The library checks signature, state and nonce; we check whose token it is, and how old."""

    def authenticate(self, request: HttpRequest | None, **options: Any) -> User | None:
        """Return the person who comes from the issuer; None, with the reason in the log, where
        anything is wrong.
        """
        try:
            person: User | None = super().authenticate(request, **options)
        except REFUSED as error:
            logger.warning("single sign-on refused", reason=repr(error)[:300])
            return None
        return person

    def verify_token(self, token: str, **options: Any) -> dict[str, Any]:
        """The token's claims. Raises SuspiciousOperation, PyJWTError."""
        claims: dict[str, Any] = super().verify_token(token, **options)
        client = settings.OIDC_RP_CLIENT_ID
        audience = claims.get("aud")
        if audience not in (client, [client]) or claims.get("azp", client) != client:
            raise SuspiciousOperation(
                f"The token was made for {audience}, not for this site alone."
            )
        if str(claims.get("iss")).rstrip("/") != settings.OIDC_ISSUER:
            raise SuspiciousOperation(
                f"The token was made by {claims.get('iss')}, not by {settings.OIDC_ISSUER}."
            )
        if "exp" not in claims or not claims.get("sub"):
            raise SuspiciousOperation("The token has no end, or names nobody.")
        return claims

    def get_userinfo(self, access_token: str, id_token: str, payload: dict[str, Any]) -> Any:
        """Return the issuer's claims about the person whom the token names."""
        claims = super().get_userinfo(access_token, id_token, payload)
        if claims.get("sub") != payload["sub"]:
            raise SuspiciousOperation("The issuer described somebody else than its token names.")
        return claims

    def verify_claims(self, claims: dict[str, Any]) -> bool:
        """An address that anybody may claim would open anybody's account.

        Of letters other than ASCII some look like ASCII ones, or become them in another case.
        """
        email = claims.get("email")
        if not isinstance(email, str) or not email.isascii() or len(email) > MOST_CHARACTERS:
            return False
        try:
            validate_email(email)
        except ValidationError:
            return False
        return claims.get("email_verified") is True

    def filter_users_by_claims(self, claims: dict[str, Any]) -> QuerySet[User]:
        """Accounts of this address. In the collation "C" only ASCII letters have another case."""
        accounts = User.objects.alias(address=Lower(Collate("email", "C")))
        return accounts.filter(address=claims["email"].lower())

    @transaction.atomic
    def create_user(self, claims: dict[str, Any]) -> User:
        email = claims["email"].lower()
        person = User.objects.create_user(email[:150], email=email)
        assign(user=person, role=Role(settings.OIDC_ROLE))
        return person


def urlpatterns() -> list[URLPattern]:
    """The two addresses of the sign-in; none where it is switched off."""
    if not settings.OIDC_ISSUER:
        return []
    start = login_not_required(OIDCAuthenticationRequestView.as_view())
    callback = login_not_required(OIDCAuthenticationCallbackView.as_view())
    return [
        path("single-sign-on/", start, name="oidc_authentication_init"),
        path("single-sign-on/callback/", callback, name="oidc_authentication_callback"),
    ]
