"""The scheduler's own tables (django-celery-beat), in the admin's looks."""

from django.contrib import admin
from django_celery_beat.admin import CrontabScheduleAdmin as PlainCrontabAdmin
from django_celery_beat.admin import PeriodicTaskAdmin as PlainPeriodicTaskAdmin
from django_celery_beat.admin import PeriodicTaskForm, TaskSelectWidget
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    SolarSchedule,
)
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

for model in (ClockedSchedule, CrontabSchedule, IntervalSchedule, PeriodicTask, SolarSchedule):
    admin.site.unregister(model)


class TaskSelect(UnfoldAdminSelectWidget, TaskSelectWidget):
    """The choice of registered tasks."""


class TaskForm(PeriodicTaskForm):
    """django-celery-beat's form with the admin's widgets."""

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)
        self.fields["task"].widget = UnfoldAdminTextInputWidget()
        self.fields["regtask"].widget = TaskSelect()


@admin.register(PeriodicTask)
class PeriodicTaskAdmin(PlainPeriodicTaskAdmin, ModelAdmin):
    form = TaskForm


@admin.register(CrontabSchedule)
class CrontabAdmin(PlainCrontabAdmin, ModelAdmin):
    list_filter = ("timezone",)
    search_fields = ("hour", "minute", "day_of_week", "timezone")


@admin.register(IntervalSchedule)
class IntervalAdmin(ModelAdmin):
    list_filter = ("period",)
    search_fields = ("every",)
