"""What to measure, as fields of a form; "Run now", schedules and comparisons share them."""

from functools import partial
from typing import Any

from django import forms
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelect2MultipleWidget,
)

from dashboard.catalog.core.plan import Case, PlanError, Selection
from dashboard.language.metrics import STARTS
from dashboard.models import Benchmark, Config, Machine
from dashboard.runs.services.runs import plan_run


def family_choices() -> list[tuple[str, str]]:
    benchmarks = Benchmark.objects.filter(retired=False).order_by("family")
    return [(name, name) for name in benchmarks.values_list("family", flat=True).distinct()]


# Families that have benchmarks, as they are when the form is shown
FamiliesField = partial(
    forms.MultipleChoiceField,
    choices=family_choices,
    required=False,
    widget=UnfoldAdminCheckboxSelectMultipleWidget,
    help_text="All their benchmarks of the machine's default size.",
)
BenchmarksField = partial(
    forms.ModelMultipleChoiceField,
    Benchmark.objects.filter(retired=False),
    required=False,
    widget=UnfoldAdminSelect2MultipleWidget,
    help_text="Of any size. With no family and no benchmark: the machine's default selection.",
)
ConfigsField = partial(
    forms.ModelMultipleChoiceField,
    Config.objects.filter(retired=False),
    required=False,
    widget=UnfoldAdminCheckboxSelectMultipleWidget,
    help_text="With none: each benchmark's own, or eager and inductor.",
)
StartsField = partial(
    forms.MultipleChoiceField,
    choices=[(start, start) for start in (*STARTS, "counted")],
    required=False,
    initial=["cold"],
    widget=UnfoldAdminCheckboxSelectMultipleWidget,
    help_text="cold: empty caches; warm: caches kept; restored: saved artifacts only: "
    "the advisor tells each. counted: the Python calls of a cold compile. Every one more costs a "
    "start.",
)
SoakField = partial(
    forms.IntegerField,
    required=False,
    min_value=0,
    label="Soak",
    widget=UnfoldAdminIntegerFieldWidget,
    help_text="So many more steps at the end of each job, to see whether memory grows: some "
    "hundred. Empty: none.",
)


def measure_of(cleaned: dict[str, Any]) -> dict[str, Any]:
    """The `measure` of the jobs that a valid form asks for."""
    measure: dict[str, Any] = {}
    if cleaned["starts"]:
        measure["starts"] = cleaned["starts"]
    if cleaned["soak_steps"]:
        measure["soak_steps"] = cleaned["soak_steps"]
    return measure


def selection_of(cleaned: dict[str, Any]) -> Selection:
    """What a valid form asks for."""
    return Selection(
        families=tuple(cleaned.get("families") or ()),
        benchmarks=tuple(benchmark.name for benchmark in cleaned.get("benchmarks") or ()),
        configs=tuple(config.name for config in cleaned.get("configs") or ()),
    )


def plan_or_error(
    machine: Machine, cleaned: dict[str, Any], *, check_training: bool = False
) -> list[Case]:
    """The cases, as plan_run has them. Raises ValidationError, with the reason, for none."""
    try:
        selection = selection_of(cleaned)
        return plan_run(machine=machine.key, selection=selection, check_training=check_training)
    except PlanError as error:
        raise forms.ValidationError(str(error)) from None
