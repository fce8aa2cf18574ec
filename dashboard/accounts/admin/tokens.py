"""Everybody's API tokens, listed and revoked; each person issues their own on the site."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from dashboard.accounts.services import api_tokens
from dashboard.models import ApiToken
from dashboard.ui.admin.base import ReadOnlyAdmin, confirmed_action


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    list_display = (
        "name",
        "owner",
        "allowed",
        "created_at",
        "expires_at",
        "revoked_at",
        "last_used_at",
    )
    list_filter = ("owner", "revoked_at", "expires_at")
    list_select_related = ("owner",)
    search_fields = ("name", "owner__username")
    actions = ("revoke",)

    @admin.display(description="Scopes")
    def allowed(self, token: ApiToken) -> str:
        return ", ".join(token.scopes)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("dashboard.change_apitoken"))

    @confirmed_action("Revoke", "revoke", "Revoke these tokens?")
    def revoke(self, request: HttpRequest, tokens: QuerySet[ApiToken]) -> str:
        return f"{api_tokens.revoke(tokens=tokens)} revoked: they let nobody in any more."
