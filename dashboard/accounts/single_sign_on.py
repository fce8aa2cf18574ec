"""Signing in with OpenID Connect, where OIDC_ISSUER is set: mozilla-django-oidc and more checks.

Let in are people whom the issuer knows by a mail address that it has verified. An account with
that address is theirs; somebody new gets one with the role OIDC_ROLE.
"""

from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.core.exceptions import SuspiciousOperation
from django.urls import URLPattern, path
from mozilla_django_oidc.auth import OIDCAuthenticationBackend
from mozilla_django_oidc.views import OIDCAuthenticationCallbackView, OIDCAuthenticationRequestView

from dashboard.accounts.services.roles import Role, assign


class SingleSignOn(OIDCAuthenticationBackend):
    """The library checks signature, state and nonce; we check the token's audience and issuer."""

    def verify_token(self, token: str, **options: Any) -> dict[str, Any]:
        """The token's claims. Raises SuspiciousOperation: the sign-in fails."""
        claims: dict[str, Any] = super().verify_token(token, **options)
        audience = claims.get("aud", [])
        clients = [audience] if isinstance(audience, str) else audience
        if settings.OIDC_RP_CLIENT_ID not in clients:
            raise SuspiciousOperation(f"The token was made for {audience}, not for this site.")
        if claims.get("iss", "").rstrip("/") != settings.OIDC_ISSUER:
            raise SuspiciousOperation(
                f"The token was made by {claims.get('iss')}, not by {settings.OIDC_ISSUER}."
            )
        return claims

    def verify_claims(self, claims: dict[str, Any]) -> bool:
        """An address that anybody may claim would open anybody's account."""
        return bool(claims.get("email")) and claims.get("email_verified") is True

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
