"""Comparisons and bisections: "Add" starts one; two selected builds lead to a comparison too."""

from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from dashboard.catalog.core.plan import budget
from dashboard.catalog.core.versions import version_order
from dashboard.comparisons.core.shortfall import MAX_REPEATS
from dashboard.comparisons.services.bisections import start_bisection, why_not
from dashboard.comparisons.services.comparisons import REPEATS, start_comparison
from dashboard.language.metrics import METRICS
from dashboard.models import Benchmark, Bisection, Comparison, Config
from dashboard.runs.forms import (
    BenchmarksField,
    ConfigsField,
    FamiliesField,
    plan_or_error,
    selection_of,
)
from dashboard.runs.selectors.offers import installable_builds, living_machines
from dashboard.ui.admin.base import BeginningAdmin, WithoutHiddenForm


class FollowedAdmin(BeginningAdmin):
    """Admin of measurements, which stay as requested; the page of each shows how far it is."""

    compressed_fields = True

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def response_add(
        self,
        request: HttpRequest,
        obj: Comparison | Bisection,
        post_url_continue: str | None = None,
    ) -> HttpResponse:
        return redirect(obj)


class CompareForm(WithoutHiddenForm):
    """Two builds, a machine, what to measure, and how often."""

    families = FamiliesField()
    benchmarks = BenchmarksField()
    configs = ConfigsField()

    class Meta:
        model = Comparison
        fields = ("base", "new", "machine", "repeats", "label")
        help_texts = {
            "repeats": "Processes of each case on each build: from three on a change has an "
            "interval, from six on it can be certain.",
            "label": "Shown as the title; may be empty.",
        }

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("base") and cleaned.get("base") == cleaned.get("new"):
            self.add_error("new", f"Both sides are {cleaned['base']}: choose two builds.")
        if not 1 <= (cleaned.get("repeats") or 0) <= MAX_REPEATS:
            self.add_error("repeats", f"Choose 1 to {MAX_REPEATS}.")
        if cleaned.get("machine"):
            self.cases = plan_or_error(cleaned["machine"], cleaned)
        return cleaned


@admin.register(Comparison)
class ComparisonAdmin(FollowedAdmin):
    begins = "Measure both now"
    form = CompareForm
    list_display = ("__str__", "base", "new", "machine", "repeats", "created_by", "created_at")
    list_filter = ("machine",)
    search_fields = ("label", "base__label", "new__label")
    list_select_related = ("base", "new", "machine", "created_by")
    fields = ("base", "new", "machine", "families", "benchmarks", "configs", "repeats", "label")

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """The first machine that can measure and the two newest versions that it can install,
        unless the address names them.
        """
        machine = living_machines(timezone.now()).first()
        builds = installable_builds([machine] if machine else [])
        plain = [build for build in builds if build.base is None]
        newest = sorted(plain, key=lambda build: version_order(build.version))[-2:]
        sides = dict(zip(("base", "new"), newest, strict=False))
        named: dict[str, Any] = super().get_changeform_initial_data(request)
        for field, of_name in (("benchmarks", Benchmark), ("configs", Config)):
            if names := named.get(field):
                named[field] = of_name.objects.filter(name__in=names.split(","))
        return {**sides, "machine": machine, "repeats": REPEATS, **named}

    def save_model(
        self, request: HttpRequest, obj: Comparison, form: CompareForm, change: bool
    ) -> None:
        cleaned = form.cleaned_data
        comparison = start_comparison(
            base=cleaned["base"].label,
            new=cleaned["new"].label,
            machine=cleaned["machine"].key,
            selection=selection_of(cleaned),
            repeats=cleaned["repeats"],
            user=cast(User, request.user),
            label=cleaned["label"],
        )
        obj.pk = comparison.pk
        obj.refresh_from_db()
        cost = budget(form.cases, {}).expected_s * 2 * obj.repeats
        messages.success(
            request, f"Both builds are measured in turn, about {cost / 60:.0f} min of work."
        )


class BisectForm(WithoutHiddenForm):
    """Two builds, and the case whose change is searched between them."""

    metric = forms.ChoiceField(
        choices=[(metric.key, metric.label) for metric in METRICS.values()], initial="latency_ms"
    )

    class Meta:
        model = Bisection
        fields = ("base", "new", "machine", "benchmark", "config", "metric")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if not self.errors:
            fields = {name: cleaned[name] for name in self.Meta.fields}
            search = Bisection(low=cleaned["base"], high=cleaned["new"], **fields)
            if problem := why_not(search):
                raise forms.ValidationError(problem)
        return cleaned


@admin.register(Bisection)
class BisectionAdmin(FollowedAdmin):
    begins = "Search now"
    form = BisectForm
    list_display = (
        "__str__",
        "state",
        "low",
        "high",
        "machine",
        "metric",
        "created_by",
        "created_at",
    )
    list_filter = ("state", "machine")
    search_fields = ("benchmark__name", "base__label", "new__label")
    list_select_related = (
        "base",
        "new",
        "low",
        "high",
        "machine",
        "benchmark",
        "config",
        "created_by",
    )
    fields = ("base", "new", "machine", "benchmark", "config", "metric")

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Links of other pages name the benchmark and the config."""
        named: dict[str, Any] = super().get_changeform_initial_data(request)
        if benchmark := Benchmark.objects.filter(name=named.get("benchmark", "")).first():
            named["benchmark"] = benchmark
        if config := Config.objects.filter(name=named.get("config", "")).first():
            named["config"] = config
        return named

    def save_model(
        self, request: HttpRequest, obj: Bisection, form: BisectForm, change: bool
    ) -> None:
        cleaned = form.cleaned_data
        bisection = start_bisection(
            base=cleaned["base"].label,
            new=cleaned["new"].label,
            machine=cleaned["machine"].key,
            benchmark=cleaned["benchmark"].name,
            config=cleaned["config"].name,
            metric=cleaned["metric"],
            user=cast(User, request.user),
        )
        obj.pk = bisection.pk
        obj.refresh_from_db()
