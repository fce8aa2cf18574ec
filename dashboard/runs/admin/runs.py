"""Runs: "Add run" is "Run now"; afterwards a run can be cancelled, and its failed jobs retried."""

from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils import timezone
from unfold.decorators import action

from dashboard.catalog.core.plan import Case
from dashboard.language.wording import plural
from dashboard.models import Machine, Purpose, Run, TorchBuild, Track
from dashboard.runs.forms import (
    BenchmarksField,
    ConfigsField,
    FamiliesField,
    SoakField,
    StartsField,
    cost_text,
    measure_of,
    plan_or_error,
    selection_of,
)
from dashboard.runs.selectors.offers import (
    default_track,
    installable_builds,
    living_machines,
    track_warning,
)
from dashboard.runs.services.runs import cancel_run, retry_failed_jobs, trigger_run
from dashboard.ui.admin.base import (
    BeginningAdmin,
    Sentences,
    confirmed_action,
    preview_response,
)

# In the order in which a person decides
FORM_FIELDSETS = (
    ("Where", {"fields": ("machine", "build", "track")}),
    ("What", {"fields": ("benchmarks", "families", "configs")}),
    ("More", {"fields": ("starts", "soak_steps", "label"), "classes": ["collapse"]}),
)
NO_WORKER = "No worker is alive: start one, and load this page again."


class RunNowForm(forms.ModelForm):  # type: ignore[type-arg]  # no type arguments at run time
    """Form for where to measure, on which build, and what. `on_machine`: whose builds it offers."""

    on_machine: Machine | None = None

    families = FamiliesField()
    benchmarks = BenchmarksField()
    configs = ConfigsField()
    starts = StartsField()
    soak_steps = SoakField()
    cases: list[Case]

    class Meta:
        model = Run
        fields = ("machine", "build", "track", "label")
        help_texts = {
            "machine": "Machines that have a worker now.",
            "build": "Builds that this machine has, or can install.",
            "track": "The results join the series of this track.",
            "label": "A name for the run, shown in lists. May be empty.",
        }

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        machines = living_machines(timezone.now())
        offered = [self.on_machine] if self.on_machine else list(machines)
        builds = TorchBuild.objects.filter(
            pk__in=[build.pk for build in installable_builds(offered)]
        )
        fields: dict[str, Any] = self.fields
        fields["machine"].queryset = machines
        fields["build"].queryset = builds
        fields["track"].queryset = Track.objects.filter(hidden=False)
        if not machines:
            fields["machine"].help_text = NO_WORKER

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        machine, build = cleaned.get("machine"), cleaned.get("build")
        if machine and build and build not in installable_builds([machine]):
            self.add_error(
                "build",
                f"{machine} neither has {build} nor can install it: choose another.",
            )
        if machine:
            self.cases = plan_or_error(machine, cleaned, check_training=True)
        return cleaned

    def cost(self) -> Sentences:
        """Describe what pressing the button starts, and what is odd about it; of a valid form."""
        cleaned = self.cleaned_data
        measure = measure_of(cleaned)
        warning = track_warning(cleaned["track"], cleaned["machine"])
        return Sentences([cost_text(self.cases, measure)], [warning] if warning else [])


def _machine(request: HttpRequest) -> Machine | None:
    """The machine that the address names, else the first; None: none can measure now."""
    machines = living_machines(timezone.now())
    key = request.GET.get("machine", "")
    named = machines.filter(pk=key).first() if key.isdecimal() else None
    return named or machines.first()


@admin.register(Run)
class RunAdmin(BeginningAdmin):
    begins = "Run now"
    list_display = (
        "id",
        "label",
        "state",
        "purpose",
        "build",
        "track",
        "machine",
        "job_count",
        "created_at",
    )
    list_display_links = ("id", "label")
    list_filter = ("state", "purpose", "machine", "track", "build")
    search_fields = ("label", "build__label")
    actions = ("cancel", "retry_failed")
    actions_list = ("run_now", "import_results")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        runs: QuerySet[Run] = super().get_queryset(request)
        return runs.select_related("build", "track", "machine").annotate(job_count=Count("jobs"))

    @admin.display(description="Jobs", ordering="job_count")
    def job_count(self, run: Run) -> int:
        return int(run.job_count)  # type: ignore[attr-defined]  # annotated above

    def get_form(self, request: HttpRequest, obj: Run | None = None, **options: Any) -> Any:
        if obj is None:
            # Another machine may be posted than the one that the page was opened with
            machine = None if request.method == "POST" else _machine(request)
            options["form"] = type("RunNowForm", (RunNowForm,), {"on_machine": machine})
        return super().get_form(request, obj, **options)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """With what the form would start next to its button (admin.js)."""
        cost = {"preview_address": reverse("admin:run_cost")}
        return super().add_view(request, form_url, {**cost, **(extra_context or {})})

    def get_urls(self) -> list[Any]:
        cost = self.admin_site.admin_view(self.cost_view)
        return [path("add/cost/", cost, name="run_cost"), *super().get_urls()]

    def cost_view(self, request: HttpRequest) -> HttpResponse:
        """Show what the form would start, or the reasons why it would start nothing."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = RunNowForm(request.POST)
        return preview_response(request, form, form.cost)

    def get_fieldsets(self, request: HttpRequest, obj: Run | None = None) -> Any:
        return super().get_fieldsets(request, obj) if obj else FORM_FIELDSETS

    def get_readonly_fields(self, request: HttpRequest, obj: Run | None = None) -> Any:
        return [field.name for field in Run._meta.fields] if obj else ()

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """A machine that can measure, the newest build that it has, and that build's track."""
        from_address: dict[str, Any] = super().get_changeform_initial_data(request)
        machine = _machine(request)
        if machine is None:
            return from_address
        builds = installable_builds([machine])
        build = builds[0] if builds else None
        track = default_track(build, machine)
        return {"build": build, "track": track, **from_address, "machine": machine}

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False  # what was measured stays; cancel a run instead

    def save_model(self, request: HttpRequest, obj: Run, form: RunNowForm, change: bool) -> None:
        if change:
            return
        cleaned = form.cleaned_data
        selection = selection_of(cleaned)
        run = trigger_run(
            build=cleaned["build"].label,
            machine=cleaned["machine"].key,
            track=cleaned["track"].key,
            purpose=Purpose.MANUAL,
            user=cast(User, request.user),
            label=cleaned["label"],
            families=selection.families,
            benchmarks=selection.benchmarks,
            configs=selection.configs,
            measure=measure_of(cleaned),
        )
        obj.pk = run.pk
        obj.refresh_from_db()
        messages.success(request, f"Queued: {cost_text(form.cases, run.request['measure'])}")
        if warning := track_warning(cleaned["track"], cleaned["machine"]):
            messages.warning(request, warning)

    def response_add(
        self, request: HttpRequest, obj: Run, post_url_continue: str | None = None
    ) -> HttpResponse:
        return redirect("run", pk=obj.pk)

    @action(description="Run now", url_path="run-now", permissions=["add"])
    def run_now(self, request: HttpRequest) -> HttpResponseRedirect:
        return redirect("admin:dashboard_run_add")

    @action(description="Import results", url_path="import-results", permissions=["add"])
    def import_results(self, request: HttpRequest) -> HttpResponseRedirect:
        return redirect("import_results")

    @confirmed_action("Cancel", "change", "Cancel these runs?")
    def cancel(self, request: HttpRequest, runs: QuerySet[Run]) -> str:
        count = sum(cancel_run(run=run) for run in runs)
        return f"Cancelled: {plural(count, 'job')} will not be measured."

    @confirmed_action("Retry failed jobs", "change", "Measure the failed jobs of these runs again?")
    def retry_failed(self, request: HttpRequest, runs: QuerySet[Run]) -> str:
        count = sum(retry_failed_jobs(run=run) for run in runs)
        return f"Queued {plural(count, 'job')} again."
