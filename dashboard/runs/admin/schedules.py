"""Schedules: what is triggered by itself, and when."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminIntegerFieldWidget

from dashboard.models import Schedule
from dashboard.runs.forms import BenchmarksField, ConfigsField, FamiliesField, plan_or_error
from dashboard.runs.services.schedules import delete_schedule, save_schedule
from dashboard.ui.admin.base import WithoutHiddenForm


class ScheduleForm(WithoutHiddenForm):
    """The same choices as "Run now", and a time."""

    families = FamiliesField()
    benchmarks = BenchmarksField()
    configs = ConfigsField()
    repeats = forms.IntegerField(
        min_value=0,
        required=False,
        initial=0,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="Runs after which a build is measured enough and the schedule waits for a "
        "newer one; 0: measure every time. A pinned track is measured every time.",
    )

    class Meta:
        model = Schedule
        fields = (
            "name",
            "enabled",
            "crontab",
            "track",
            "machine",
            "repeats",
            "families",
            "benchmarks",
            "configs",
        )

    def clean_repeats(self) -> int:
        return self.cleaned_data["repeats"] or 0

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("machine") and cleaned.get("enabled"):
            plan_or_error(cleaned["machine"], cleaned)
        return cleaned


@admin.register(Schedule)
class ScheduleAdmin(ModelAdmin):
    form = ScheduleForm
    list_display = ("name", "enabled", "crontab", "track", "machine", "problem")
    list_filter = ("enabled", "machine", "track")
    search_fields = ("name",)
    fields = (*ScheduleForm.Meta.fields, "problem")
    readonly_fields = ("problem",)
    compressed_fields = True

    def save_model(
        self, request: HttpRequest, obj: Schedule, form: ScheduleForm, change: bool
    ) -> None:
        save_schedule(schedule=obj)

    def delete_model(self, request: HttpRequest, obj: Schedule) -> None:
        delete_schedule(schedule=obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Schedule]) -> None:
        for schedule in queryset:
            delete_schedule(schedule=schedule)
