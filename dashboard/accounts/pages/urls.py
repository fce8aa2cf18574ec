"""The addresses of signing in and out, of tokens, and of saved views."""

from django.conf import settings
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from dashboard.accounts import single_sign_on
from dashboard.accounts.pages import saved_views, starred_models, tokens

urlpatterns = [
    path("tokens/", tokens.listing, name="tokens"),
    path("tokens/<int:pk>/revoke", tokens.revoke, name="token_revoke"),
    path("saved-views/<int:pk>/remove", saved_views.remove, name="saved_view_remove"),
    path("models/star", starred_models.change, name="star_model"),
    path(
        "sign-in/",
        LoginView.as_view(
            template_name="accounts/sign_in.html",
            redirect_authenticated_user=True,
            extra_context={"single_sign_on": settings.OIDC_ISSUER},
        ),
        name="sign_in",
    ),
    *single_sign_on.urlpatterns(),
    path("sign-out/", LogoutView.as_view(next_page="/"), name="sign_out"),
]
