"""Factorials: "Add" starts one; what it costs and what it can show stands next to the button."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils import timezone
from unfold.widgets import UnfoldAdminTextInputWidget

from dashboard.catalog.core.pins import PINS
from dashboard.catalog.core.plan import PlanError
from dashboard.catalog.core.versions import version_order
from dashboard.comparisons.admin.versions import FollowedAdmin
from dashboard.comparisons.core.factorial_design import CUDA, TORCH, UNVARIED, VARIANT
from dashboard.comparisons.core.factorial_words import cell_text, exchange_text, scope_text
from dashboard.comparisons.core.metric_effects import CERTAIN_PROCESSES
from dashboard.comparisons.core.shortfall import MAX_REPEATS
from dashboard.comparisons.selectors.factorial_plan import (
    FactorialPlan,
    cuda_of,
    plan_factorial,
    torch_of,
    variant_of,
)
from dashboard.comparisons.services.factorials import REPEATS, start_factorial
from dashboard.language.wording import plural
from dashboard.models import Benchmark, Config, Factorial, Machine, TorchBuild
from dashboard.runs.selectors.offers import installable_builds, living_machines
from dashboard.ui.admin.base import Sentences, WithoutHiddenForm, preview_response
from dashboard.ui.admin.widgets import Checkboxes, Picker

# Libraries that the form asks for; the API and the command take every one of the table of pins
_FORM_LIBRARIES = ("transformers", "diffusers", "numpy")
_NAMES = (TORCH, CUDA, *_FORM_LIBRARIES, VARIANT)
FIELDSETS = (
    ("What", {"fields": ("machine", "benchmark", "config")}),
    ("Exchange two or three of these", {"fields": _NAMES}),
    ("How often", {"fields": ("repeats", "label")}),
)


def _offered_builds() -> list[TorchBuild]:
    return installable_builds(list(living_machines(timezone.now())))


def torch_choices() -> list[tuple[str, str]]:
    """The versions that a living machine has or can install, the newest first."""
    levels = {}
    for build in _offered_builds():
        levels[torch_of(build.base or build)] = version_order(build.version)
    newest_first = sorted(levels, key=lambda level: levels[level], reverse=True)
    return [(level, level) for level in newest_first]


def cuda_choices() -> list[tuple[str, str]]:
    flavours = {cuda_of(build) for build in _offered_builds()} - {""}
    return [(each, each) for each in sorted(flavours)]


def variant_choices() -> list[tuple[str, str]]:
    names = {variant_of(build) for build in _offered_builds()} - {""}
    return [(UNVARIED, "as they are"), *((name, name) for name in sorted(names))]


def _library_field(library: str) -> forms.CharField:
    versions = ", ".join(pin.version for pin in PINS if pin.library == library)
    return forms.CharField(
        label=library,
        required=False,
        widget=UnfoldAdminTextInputWidget,
        help_text=f"Versions with commas between them. Known to go with some torch: {versions}.",
    )


class FactorialForm(WithoutHiddenForm):
    """One case, and what is exchanged."""

    torch = forms.MultipleChoiceField(
        choices=torch_choices, label="torch", widget=Picker, help_text="One to three versions."
    )
    cuda = forms.MultipleChoiceField(
        choices=cuda_choices,
        label="CUDA",
        required=False,
        widget=Checkboxes,
        help_text="Which build of each version. With none: the only one that fits the machine.",
    )
    transformers = _library_field("transformers")
    diffusers = _library_field("diffusers")
    numpy = _library_field("numpy")
    variant = forms.MultipleChoiceField(
        choices=variant_choices,
        label="Settings",
        required=False,
        widget=Checkboxes,
        help_text="Variants of the builds: environment variables and Inductor settings.",
    )

    plan: FactorialPlan

    class Meta:
        model = Factorial
        fields = ("machine", "benchmark", "config", "repeats", "label")
        labels = {"repeats": "Rounds"}
        help_texts = {
            "repeats": "Each round measures every combination once, in a random order. Three make "
            "six processes a side where two factors of two levels are exchanged.",
            "label": "Shown as the title; may be empty.",
        }

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        fields: dict[str, Any] = self.fields
        fields["machine"].queryset = living_machines(timezone.now())
        fields["benchmark"].queryset = Benchmark.objects.filter(retired=False)
        fields["config"].queryset = Config.objects.filter(retired=False)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if not 1 <= (cleaned.get("repeats") or 0) <= MAX_REPEATS:
            self.add_error("repeats", f"Choose 1 to {MAX_REPEATS}.")
        if not self.errors:
            try:
                self.plan = plan_factorial(
                    machine=cleaned["machine"].key,
                    benchmark=cleaned["benchmark"].name,
                    config=cleaned["config"].name,
                    levels=levels_of(cleaned),
                    repeats=cleaned["repeats"],
                )
            except PlanError as error:
                raise forms.ValidationError(str(error)) from None
        return cleaned

    def cost(self) -> Sentences:
        """What pressing the button starts, what that can show, and what it cannot."""
        return Sentences(facts_of(self.plan), warnings_of(self.plan))


def levels_of(cleaned: Mapping[str, Any]) -> dict[str, Sequence[str]]:
    """The levels of each name that a form or an address gives."""
    levels: dict[str, Sequence[str]] = {}
    for name in _NAMES:
        given = cleaned.get(name) or ()
        if isinstance(given, str):
            given = [part.strip() for part in given.split(",") if part.strip()]
        if given:
            levels[name] = list(given)
    return levels


def facts_of(plan: FactorialPlan) -> list[str]:
    arms = plural(len(plan.arms), "combination")
    jobs, minutes = plural(plan.cost.jobs, "job"), plan.cost.expected_s / 60
    facts = [f"{arms} in {plural(plan.repeats, 'round')}: {jobs}, about {minutes:.0f} min of work."]
    if plan.to_install:
        environments = plural(plan.to_install, "environment")
        facts.append(f"{environments} must be installed first: some minutes each.")
    names = []
    for contrast in plan.estimable.effects:
        scope = scope_text(plan.factors, contrast)
        names.append(f"{exchange_text(plan.factors, contrast)} {scope}".strip())
    facts.append(f"It can show: {'; '.join(names)}.")
    return facts


def warnings_of(plan: FactorialPlan) -> list[str]:
    warnings = []
    for out in plan.excluded:
        warnings.append(f"Left out, {cell_text(plan.factors, out.cell)}: {out.why}.")
    if plan.estimable.aliased:
        names = [exchange_text(plan.factors, each) for each in plan.estimable.aliased]
        warnings.append(f"It cannot show: {'; '.join(names)}.")
    if plan.fewest < CERTAIN_PROCESSES:
        warnings.append(
            f"An effect rests on {plural(plan.fewest, 'process', 'processes')} a side: below "
            f"{CERTAIN_PROCESSES} a change stays suspected. Choose more rounds to settle it."
        )
    return warnings


@admin.register(Factorial)
class FactorialAdmin(FollowedAdmin):
    begins = "Measure all now"
    form = FactorialForm
    list_display = ("__str__", "machine", "repeats", "created_by", "created_at")
    list_filter = ("machine",)
    search_fields = ("label", "benchmark__name")
    list_select_related = ("machine", "benchmark", "config", "created_by")
    fieldsets = FIELDSETS

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """With what the form would start next to its button (admin.js)."""
        cost = {"preview_address": reverse("admin:factorial_cost")}
        return super().add_view(request, form_url, {**cost, **(extra_context or {})})

    def get_urls(self) -> list[Any]:
        cost = self.admin_site.admin_view(self.cost_view)
        return [path("add/cost/", cost, name="factorial_cost"), *super().get_urls()]

    def cost_view(self, request: HttpRequest) -> HttpResponse:
        """What the form would start; the reasons why it would start nothing."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = FactorialForm(request.POST)
        return preview_response(request, form, form.cost)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """The first machine that can measure, and what the address names."""
        machine: Machine | None = living_machines(timezone.now()).first()
        named: dict[str, Any] = super().get_changeform_initial_data(request)
        for field in (TORCH, CUDA, VARIANT):
            if levels := named.get(field):
                named[field] = levels.split(",")
        if benchmark := Benchmark.objects.filter(name=named.get("benchmark", "")).first():
            named["benchmark"] = benchmark
        config = Config.objects.filter(name=named.get("config", "inductor")).first()
        return {"machine": machine, "repeats": REPEATS, **named, "config": config}

    def save_model(
        self, request: HttpRequest, obj: Factorial, form: FactorialForm, change: bool
    ) -> None:
        factorial = start_factorial(
            plan=form.plan, label=form.cleaned_data["label"], user=cast(User, request.user)
        )
        obj.pk = factorial.pk
        obj.refresh_from_db()
        messages.success(request, f"Queued: {facts_of(form.plan)[0]}")
