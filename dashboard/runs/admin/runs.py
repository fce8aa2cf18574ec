"""Runs: "Add run" is "Run now"; afterwards a run can be cancelled, and its failed jobs retried."""

from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db.models import Count, Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from unfold.decorators import action

from dashboard.catalog.core.plan import Case, budget
from dashboard.language.wording import plural
from dashboard.models import Machine, Purpose, Run, TorchBuild, Track
from dashboard.runs.forms import (
    BenchmarksField,
    ConfigsField,
    FamiliesField,
    StartsField,
    plan_or_error,
    selection_of,
)
from dashboard.runs.services.runs import cancel_run, retry_failed_jobs, trigger_run
from dashboard.ui.admin.base import BeginningAdmin, confirmed

FORM_FIELDS = ("build", "track", "machine", "families", "benchmarks", "configs", "starts", "label")


class RunNowForm(forms.ModelForm):  # type: ignore[type-arg]  # no type arguments at run time
    """What to measure, on which build, where."""

    families = FamiliesField()
    benchmarks = BenchmarksField()
    configs = ConfigsField()
    starts = StartsField()
    cases: list[Case]

    class Meta:
        model = Run
        fields = ("build", "track", "machine", "label")
        help_texts = {
            "track": "The stream of builds whose series these numbers join.",
            "label": "Shown with the run; may be empty.",
        }

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("machine"):
            self.cases = plan_or_error(cleaned["machine"], cleaned)
        return cleaned


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
    compressed_fields = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        runs: QuerySet[Run] = super().get_queryset(request)
        return runs.select_related("build", "track", "machine").annotate(job_count=Count("jobs"))

    @admin.display(description="Jobs", ordering="job_count")
    def job_count(self, run: Run) -> int:
        return int(run.job_count)  # type: ignore[attr-defined]  # annotated above

    def get_form(self, request: HttpRequest, obj: Run | None = None, **options: Any) -> Any:
        if obj is None:
            options["form"] = RunNowForm
        return super().get_form(request, obj, **options)

    def get_fields(self, request: HttpRequest, obj: Run | None = None) -> Any:
        return super().get_fields(request, obj) if obj else FORM_FIELDS

    def get_readonly_fields(self, request: HttpRequest, obj: Run | None = None) -> Any:
        return [field.name for field in Run._meta.fields] if obj else ()

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """The newest build, and the only or first machine and track."""
        build, machine = TorchBuild.objects.first(), Machine.objects.first()
        track = Track.objects.filter(build=build).first() or Track.objects.first()
        from_address: dict[str, Any] = super().get_changeform_initial_data(request)
        return {"build": build, "machine": machine, "track": track, **from_address}

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
            measure={"starts": cleaned["starts"]} if cleaned["starts"] else {},
        )
        obj.pk = run.pk
        obj.refresh_from_db()
        cost = budget(form.cases, run.request["measure"])
        messages.success(
            request,
            f"Queued: {plural(cost.jobs, 'job')}, about {cost.expected_s / 60:.0f} min of work.",
        )

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

    @admin.action(description="Cancel", permissions=["change"])
    def cancel(self, request: HttpRequest, chosen: QuerySet[Run]) -> HttpResponse | None:
        def apply(runs: QuerySet[Run]) -> str:
            count = sum(cancel_run(run=run) for run in runs)
            return f"Cancelled: {plural(count, 'job')} will not be measured."

        return confirmed(self, request, chosen, question="Cancel these runs?", apply=apply)

    @admin.action(description="Retry failed jobs", permissions=["change"])
    def retry_failed(self, request: HttpRequest, chosen: QuerySet[Run]) -> HttpResponse | None:
        def apply(runs: QuerySet[Run]) -> str:
            count = sum(retry_failed_jobs(run=run) for run in runs)
            return f"Queued {plural(count, 'job')} again."

        question = "Measure the failed jobs of these runs again?"
        return confirmed(self, request, chosen, question=question, apply=apply)
