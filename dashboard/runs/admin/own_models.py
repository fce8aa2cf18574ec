"""Git repositories of own models, whose code workers run: docs/own-models.md."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from dashboard.models import ModelRepository
from dashboard.runs.services.own_models import delete_repository, save_repository


@admin.register(ModelRepository)
class ModelRepositoryAdmin(ModelAdmin):
    list_display = ("key", "url", "commit", "revision", "read_revision", "read_by")
    list_filter = ("read_by",)
    search_fields = ("key", "url")
    fields = ("key", "url", "commit", "revision", "read_revision", "read_by", "problem")
    readonly_fields = ("revision", "read_revision", "read_by", "problem")

    def get_readonly_fields(self, request: HttpRequest, obj: ModelRepository | None = None) -> Any:
        return ("key", *self.readonly_fields) if obj else self.readonly_fields

    def save_model(
        self, request: HttpRequest, obj: ModelRepository, form: Any, change: bool
    ) -> None:
        save_repository(repository=obj)
        messages.warning(
            request, f"Workers fetch {obj.key} and run its code: revision {obj.revision}."
        )

    def delete_model(self, request: HttpRequest, obj: ModelRepository) -> None:
        delete_repository(repository=obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[ModelRepository]) -> None:
        for repository in queryset:
            delete_repository(repository=repository)
