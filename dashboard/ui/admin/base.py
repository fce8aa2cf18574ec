"""What the admin pages share."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from unfold.admin import ModelAdmin

Apply = Callable[[QuerySet[Any]], str]


class BeginningAdmin(ModelAdmin):
    """For forms that begin something: one button, which says what; nothing is only saved."""

    begins: str

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        page: HttpResponse = super().add_view(
            request, form_url, {"begins": self.begins, **(extra_context or {})}
        )
        return page


class ReadOnlyAdmin(ModelAdmin):
    """For tables that only workers and services write."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


def confirmed(
    admin: ModelAdmin, request: HttpRequest, chosen: QuerySet[Any], *, question: str, apply: Apply
) -> HttpResponse | None:
    """Ask `question` on a page of its own; on yes, `apply` and show what it returns."""
    if request.POST.get("confirmed"):
        messages.success(request, apply(chosen))
        return None
    context = {
        **admin.admin_site.each_context(request),
        "title": question,
        "opts": admin.model._meta,
        "chosen": chosen,
        "action": request.POST["action"],
        "checkbox": ACTION_CHECKBOX_NAME,
    }
    return TemplateResponse(request, "admin/confirm_action.html", context)
