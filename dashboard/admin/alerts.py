"""Alerts, mutes, invalid points and annotations, to look at; what people do with alerts they do on the alert's page."""

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from dashboard.admin.base import ReadOnlyAdmin
from dashboard.models import AlertGroup, Annotation, InvalidPoint, Mute


@admin.register(AlertGroup)
class AlertGroupAdmin(ReadOnlyAdmin):
    list_display = (
        "title",
        "state",
        "severity",
        "cause",
        "direction",
        "series",
        "machine",
        "track",
        "assignee",
        "created_at",
    )
    list_filter = ("state", "severity", "cause", "direction", "kind", "machine", "track", "assignee")
    list_select_related = ("machine", "track", "assignee")
    search_fields = ("title", "events__text")

    def get_queryset(self, request: HttpRequest) -> QuerySet[AlertGroup]:
        groups: QuerySet[AlertGroup] = super().get_queryset(request)
        return groups.annotate(series_count=Count("alerts"))

    @admin.display(description="Series", ordering="series_count")
    def series(self, group: AlertGroup) -> int:
        return int(group.series_count)  # type: ignore[attr-defined]  # annotated above


@admin.register(Mute)
class MuteAdmin(ReadOnlyAdmin):
    list_display = ("series", "until", "reason", "by", "created_at")
    list_select_related = ("series", "by")
    search_fields = ("reason", "series__benchmark__name")


@admin.register(InvalidPoint)
class InvalidPointAdmin(ReadOnlyAdmin):
    list_display = ("series", "job", "reason", "by", "at")
    list_select_related = ("series", "job__benchmark", "job__config", "by")
    search_fields = ("reason", "series__benchmark__name")


@admin.register(Annotation)
class AnnotationAdmin(ModelAdmin):
    list_display = ("text", "benchmark", "at", "by")
    list_filter = ("by",)
    list_select_related = ("benchmark", "by")
    search_fields = ("text", "benchmark__name")
    autocomplete_fields = ("benchmark",)
    readonly_fields = ("by",)
