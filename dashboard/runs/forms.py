"""Form fields for what to measure; "Run now", schedules and comparisons share them."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminIntegerFieldWidget

from dashboard.catalog.core.plan import Case, PlanError, Selection, budget
from dashboard.catalog.selectors.lookups import family_choices
from dashboard.language.metrics import STARTS, STARTUPS
from dashboard.language.wording import plural
from dashboard.models import Benchmark, Config, Machine
from dashboard.runs.services.runs import plan_run
from dashboard.ui.admin.widgets import Checkboxes, Picker

BenchmarksField = partial(
    forms.ModelMultipleChoiceField,
    Benchmark.objects.filter(retired=False),
    required=False,
    widget=Picker,
    help_text="Type words of its name, as gpt2 training. "
    "With no benchmark and no family: the machine's default selection.",
)
# Families that have benchmarks, as they are when the form is shown
FamiliesField = partial(
    forms.MultipleChoiceField,
    choices=family_choices,
    required=False,
    widget=Checkboxes,
    help_text="All their benchmarks of the machine's default size.",
)
ConfigsField = partial(
    forms.ModelMultipleChoiceField,
    Config.objects.filter(retired=False),
    required=False,
    widget=Picker,
    help_text="With none: each benchmark's own, or eager and inductor.",
)
StartsField = partial(
    forms.MultipleChoiceField,
    choices=[(start, start) for start in (*STARTS, "counted", *STARTUPS, "diagnostic")],
    required=False,
    initial=["cold"],
    widget=Checkboxes,
    help_text="cold: empty caches; warm: caches kept; restored: saved artifacts only. counted: "
    "the Python calls of a cold compile. startup: from a new process to its first result. "
    "diagnostic: the compiler's own trace and log, to find out why. Each one costs another "
    "start of every case.",
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
    """Read the selection that a valid form asks for."""
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


def cost_text(cases: Sequence[Case], measure: dict[str, Any]) -> str:
    cost = budget(cases, measure)
    return f"{plural(cost.jobs, 'job')}, about {cost.expected_s / 60:.0f} min of work."
