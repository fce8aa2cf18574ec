"""Schedules: what is triggered by itself, and when."""

from datetime import datetime
from typing import Any, cast
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.html import format_html
from unfold.decorators import action
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelect2Widget,
    UnfoldAdminSelectWidget,
)

from dashboard.catalog.core.plan import Case, PlanError
from dashboard.language.durations import duration
from dashboard.language.moments import stamp
from dashboard.models import Machine, Schedule
from dashboard.runs.core.timing import EVERY_DAY, HOURS, WEEKDAYS, Timing
from dashboard.runs.forms import (
    BenchmarksField,
    ConfigsField,
    FamiliesField,
    cost_text,
    plan_or_error,
)
from dashboard.runs.selectors.offers import track_warning
from dashboard.runs.selectors.runs import workers_alive
from dashboard.runs.selectors.schedules import due_after, in_words, next_run, timing_of_row
from dashboard.runs.services.schedules import delete_schedule, save_schedule, trigger_now
from dashboard.runs.services.tracks import no_build_warning
from dashboard.ui.admin.base import (
    PlainChoicesAdmin,
    Sentences,
    WithoutHiddenForm,
    preview_response,
)
from dashboard.ui.admin.widgets import Checkboxes, TimeOfDay

DAILY, HOURLY, AS_IT_IS = "daily", "hourly", "as_it_is"
HOUR_CHOICES = [(hours, "every hour" if hours == 1 else f"every {hours} hours") for hours in HOURS]


class ScheduleForm(WithoutHiddenForm):
    """A time in fields of its own, and the same choices as "Run now"."""

    how_often = forms.ChoiceField(
        choices=[(DAILY, "Once a day"), (HOURLY, "Every few hours")],
        initial=DAILY,
        widget=UnfoldAdminSelectWidget,
    )
    at = forms.TimeField(
        required=False,
        initial="02:30",
        widget=TimeOfDay({"data-only-when": f"how_often={DAILY}"}),
    )
    every_hours = forms.TypedChoiceField(
        choices=HOUR_CHOICES,
        coerce=int,
        initial=6,
        required=False,
        widget=UnfoldAdminSelectWidget({"data-only-when": f"how_often={HOURLY}"}),
        label="Interval",
        help_text="Counted from midnight.",
    )
    weekdays = forms.TypedMultipleChoiceField(
        choices=[(day, name[:3]) for day, name in enumerate(WEEKDAYS)],
        coerce=int,
        initial=sorted(EVERY_DAY),
        required=False,
        widget=Checkboxes({"data-only-when": f"how_often={DAILY}|{HOURLY}"}),
        label="Days",
    )
    time_zone = forms.ChoiceField(
        choices=[(zone, zone) for zone in sorted(available_timezones())],
        required=False,
        widget=UnfoldAdminSelect2Widget({"data-only-when": f"how_often={DAILY}|{HOURLY}"}),
    )
    benchmarks = BenchmarksField()
    families = FamiliesField()
    configs = ConfigsField()
    repeats = forms.IntegerField(
        min_value=0,
        required=False,
        initial=0,
        widget=UnfoldAdminIntegerFieldWidget,
        label="Runs of one build",
        help_text="After so many runs the schedule waits for a newer build. 0: it runs every time, "
        "as it always does for a pinned track.",
    )
    timing: Timing | None = None
    cases: list[Case]

    class Meta:
        model = Schedule
        fields = (
            "name",
            "enabled",
            "machine",
            "track",
            "repeats",
            "benchmarks",
            "families",
            "configs",
        )
        help_texts = {"track": "It runs on the build where this track stands when it is due."}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "how_often" not in self.fields:  # a viewer who may not change it
            return
        self.initial.setdefault("time_zone", settings.TIME_ZONE)
        if not self.instance.pk and not self.is_bound:
            self.fields["time_zone"].widget.attrs["data-own-zone"] = ""  # admin.js
        if self.instance.crontab_id:
            self._show_timing()

    def _show_timing(self) -> None:
        row = self.instance.crontab
        timing = timing_of_row(row)
        how_often: Any = self.fields["how_often"]
        if timing is None:
            how_often.choices = [*how_often.choices, (AS_IT_IS, f"As it is: {row.human_readable}")]
            self.initial.update(how_often=AS_IT_IS, time_zone=str(row.timezone))
            return
        self.initial.update(time_zone=timing.zone, weekdays=sorted(timing.weekdays))
        if timing.at is not None:
            self.initial.update(how_often=DAILY, at=timing.at)
        else:
            self.initial.update(how_often=HOURLY, every_hours=timing.every_hours)

    def clean_repeats(self) -> int:
        return self.cleaned_data["repeats"] or 0

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("how_often") in {DAILY, HOURLY}:
            self._clean_timing(cleaned)
        if cleaned.get("machine"):
            self._plan(cleaned)
        return cleaned

    def _clean_timing(self, cleaned: dict[str, Any]) -> None:
        is_daily = cleaned["how_often"] == DAILY
        if is_daily and not cleaned.get("at"):
            self.add_error("at", "Say at what time it runs, as 02:30.")
        if not is_daily and not cleaned.get("every_hours"):
            self.add_error("every_hours", "Choose how often it runs.")
        if not cleaned.get("weekdays"):
            self.add_error("weekdays", "Choose at least one day.")
        if not cleaned.get("time_zone"):
            self.add_error("time_zone", "Choose the time zone of its clock.")
        if self.errors:
            return
        self.timing = Timing(
            cleaned["time_zone"],
            at=cleaned["at"] if is_daily else None,
            every_hours=None if is_daily else cleaned["every_hours"],
            weekdays=frozenset(cleaned["weekdays"]),
        )

    def _plan(self, cleaned: dict[str, Any]) -> None:
        """One that is switched off may have nothing to measure."""
        self.cases = []
        try:
            self.cases = plan_or_error(cleaned["machine"], cleaned)
        except forms.ValidationError:
            if cleaned.get("enabled"):
                raise

    def sentences(self) -> Sentences:
        """Describe when it runs, when first, and what each run costs; of a valid form."""
        cleaned = self.cleaned_data
        facts = []
        if not cleaned["enabled"]:
            facts.append("It is switched off. If it were on:")
        if self.timing is None:
            facts.append(when_in_words(self.instance))
        else:
            due = next_run(self.timing, timezone.now())
            facts.append(f"{self.timing}. {_next_in_words(due)}")
        machine, track = cleaned.get("machine"), cleaned.get("track")
        warnings = []
        if machine:
            facts.append(f"Each time: {cost_text(self.cases, {})}")
            warnings.append(no_worker_warning(machine))
        if track:
            warnings.append(no_build_warning(track, timezone.now()))
            if machine:
                warnings.append(track_warning(track, machine))
        return Sentences(facts, list(filter(None, warnings)))


def no_worker_warning(machine: Machine) -> str:
    if workers_alive(machine.pk, timezone.now()):
        return ""
    return f"No worker is alive on {machine}: runs wait for one."


def when_in_words(schedule: Schedule) -> str:
    """As "Every day at 02:30, Europe/Berlin. Next: Tuesday, 24 Nov 2026, 02:30 UTC+1, in 3 h."."""
    due = due_after(schedule.crontab, timezone.now())
    return f"{in_words(schedule.crontab)}. {_next_in_words(due)}"


def _next_in_words(due: datetime) -> str:
    wait = duration((due - timezone.now()).total_seconds())
    return f"Next: {due:%A}, {stamp(due)}, in {wait}."


@admin.register(Schedule)
class ScheduleAdmin(PlainChoicesAdmin):
    form = ScheduleForm
    list_display = ("name", "enabled", "when", "next_run", "track", "machine", "problem_now")
    list_filter = ("enabled", "machine", "track")
    list_select_related = ("crontab", "track", "machine")
    search_fields = ("name",)
    readonly_fields = ("when", "problem_now")
    actions = ("run_now",)
    actions_submit_line = ("save_and_run_now",)

    def get_fieldsets(self, request: HttpRequest, obj: Schedule | None = None) -> Any:
        timing: tuple[str, ...] = ("how_often", "at", "every_hours", "weekdays", "time_zone")
        state: tuple[str, ...] = ("name", "enabled")
        if obj is not None and not self.has_change_permission(request, obj):
            timing = ("when",)
        if obj is not None and self.problem_now(obj):
            state = (*state, "problem_now")
        return (
            (None, {"fields": state}),
            ("When", {"fields": timing}),
            ("Where", {"fields": ("machine", "track", "repeats")}),
            ("What", {"fields": ("benchmarks", "families", "configs")}),
        )

    @admin.display(description="When", ordering="crontab")
    def when(self, schedule: Schedule) -> str:
        return in_words(schedule.crontab)

    @admin.display(description="Next run")
    def next_run(self, schedule: Schedule) -> str:
        if not schedule.enabled:
            return "switched off"
        now = timezone.now()
        return f"in {duration((due_after(schedule.crontab, now) - now).total_seconds())}"

    @admin.display(description="Problem")
    def problem_now(self, schedule: Schedule) -> str:
        """Explain why it triggered nothing when last due, else why nothing would measure it."""
        return schedule.problem or (no_worker_warning(schedule.machine) if schedule.enabled else "")

    def has_run_permission(self, request: HttpRequest, pk: str | None = None) -> bool:
        return request.user.has_perm("dashboard.add_run")

    @admin.action(description="Run now", permissions=["run"])
    def run_now(self, request: HttpRequest, schedules: QuerySet[Schedule]) -> None:
        for schedule in schedules:
            try:
                run = trigger_now(schedule=schedule, user=cast(User, request.user))
            except PlanError as reason:
                messages.error(request, f"{schedule}: {reason}")
                continue
            triggered = 'Triggered <a class="underline" href="{}">run {}</a> of {}.'
            address = run.get_absolute_url()
            messages.success(request, format_html(triggered, address, run.pk, schedule))

    @action(description="Save and run now", permissions=["run"])
    def save_and_run_now(self, request: HttpRequest, schedule: Schedule) -> None:
        self.run_now(request, Schedule.objects.filter(pk=schedule.pk))

    def response_change(self, request: HttpRequest, obj: Schedule) -> HttpResponse:
        """Run now what the form says: only by now its benchmarks and configs are stored."""
        if "dashboard_schedule_save_and_run_now" in request.POST:
            self.save_and_run_now(request, obj)
        response: HttpResponse = super().response_change(request, obj)
        return response

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        """With when it would run, and what, next to its button (admin.js)."""
        query = f"?schedule={object_id}" if object_id else ""
        preview = {"preview_address": f"{reverse('admin:schedule_preview')}{query}"}
        # "Save and run now" stands in its place
        buttons = {"show_save_and_add_another": object_id is None}
        context = {**preview, **buttons, **(extra_context or {})}
        return super().changeform_view(request, object_id, form_url, context)

    def get_urls(self) -> list[Any]:
        preview = self.admin_site.admin_view(self.preview_view)
        return [path("preview/", preview, name="schedule_preview"), *super().get_urls()]

    def preview_view(self, request: HttpRequest) -> HttpResponse:
        """Show when the posted form would run, and what each run would cost."""
        if not self.has_change_permission(request):
            raise PermissionDenied
        key = request.GET.get("schedule", "")
        instance = Schedule.objects.filter(pk=key).first() if key.isdecimal() else None
        form = ScheduleForm(request.POST, instance=instance)
        for name in ("name", "machine", "track"):  # they may come later
            form.fields[name].required = False
        return preview_response(request, form, form.sentences)

    def save_model(
        self, request: HttpRequest, obj: Schedule, form: ScheduleForm, change: bool
    ) -> None:
        save_schedule(schedule=obj, timing=form.timing)
        if obj.enabled:
            messages.info(request, when_in_words(obj))

    def delete_model(self, request: HttpRequest, obj: Schedule) -> None:
        delete_schedule(schedule=obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Schedule]) -> None:
        for schedule in queryset:
            delete_schedule(schedule=schedule)
