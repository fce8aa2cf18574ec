"""What to measure, as fields of a form; "Run now", schedules and comparisons share them."""

from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminSelect2MultipleWidget

from dashboard.catalog.core.plan import Case, PlanError, Selection
from dashboard.language.metrics import STARTS
from dashboard.models import Benchmark, Config, Machine
from dashboard.runs.services.runs import plan_run


def family_choices() -> list[tuple[str, str]]:
    benchmarks = Benchmark.objects.filter(retired=False).order_by("family")
    return [(name, name) for name in benchmarks.values_list("family", flat=True).distinct()]


class FamiliesField(forms.MultipleChoiceField):
    """Families that have benchmarks, as they are when the form is shown."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            choices=family_choices,
            required=False,
            widget=UnfoldAdminCheckboxSelectMultipleWidget(),
            help_text="All their benchmarks of the machine's default size.",
            **options,
        )


class BenchmarksField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]  # none at run time
    """Single benchmarks."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            Benchmark.objects.filter(retired=False),
            required=False,
            widget=UnfoldAdminSelect2MultipleWidget(),
            help_text="Of any size. With no family and no benchmark: the machine's default "
            "selection.",
            **options,
        )


class ConfigsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]  # none at run time
    """Configs."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            Config.objects.filter(retired=False),
            required=False,
            widget=UnfoldAdminCheckboxSelectMultipleWidget(),
            help_text="With none: each benchmark's own, or eager and inductor.",
            **options,
        )


class StartsField(forms.MultipleChoiceField):
    """Which starts to measure."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            choices=[(start, start) for start in STARTS],
            required=False,
            initial=["cold"],
            widget=UnfoldAdminCheckboxSelectMultipleWidget(),
            help_text="cold: empty caches; warm: caches kept; restored: saved artifacts only. "
            "The advisor tells each; every one more costs a start.",
            **options,
        )


def selection_of(cleaned: dict[str, Any]) -> Selection:
    """What a valid form asks for."""
    return Selection(
        families=tuple(cleaned.get("families") or ()),
        benchmarks=tuple(benchmark.name for benchmark in cleaned.get("benchmarks") or ()),
        configs=tuple(config.name for config in cleaned.get("configs") or ()),
    )


def plan_or_error(machine: Machine, cleaned: dict[str, Any]) -> list[Case]:
    """What would be measured. Raises ValidationError with the reason why nothing can."""
    try:
        return plan_run(machine=machine.key, selection=selection_of(cleaned))
    except PlanError as error:
        raise forms.ValidationError(str(error)) from None
