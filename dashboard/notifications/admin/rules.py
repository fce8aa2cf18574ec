"""Rules: three choices say who is notified of what and when; the rest narrows them."""

from collections.abc import Mapping
from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from django.contrib import admin
from django.db.models import Model, QuerySet
from django.forms import model_to_dict
from django.http import HttpRequest
from unfold.widgets import (
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminSelect2Widget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from dashboard.catalog.selectors.lookups import family_choices
from dashboard.language.metrics import METRICS
from dashboard.models import (
    AlertState,
    Benchmark,
    Channel,
    Machine,
    Rule,
    Severity,
    Subject,
    Track,
)
from dashboard.runs.core.timing import WEEKDAYS
from dashboard.ui.admin.base import PlainChoicesAdmin, WithoutHiddenForm
from dashboard.ui.admin.widgets import Checkboxes, Picker, TimeOfDay

AT_ONCE, DAILY, WEEKLY = Rule.When.AT_ONCE, Rule.When.DAILY, Rule.When.WEEKLY
ONLY_DIGESTS = {"data-only-when": f"when={DAILY}|{WEEKLY}"}
ALERTING = [(metric.key, metric.label) for metric in METRICS.values() if metric.alerts]
ALL = "None: all."


def model_choices() -> list[tuple[str, str]]:
    models = Benchmark.objects.filter(retired=False).order_by("model")
    return [(name, name) for name in models.values_list("model", flat=True).distinct()]


class WordsField(forms.MultipleChoiceField):
    """Words to choose from; none means all."""

    def __init__(self, choices: Any, help_text: str = ALL, **options: Any) -> None:
        options = {"required": False, "widget": Picker(), **options}
        super().__init__(choices=choices, help_text=help_text, **options)


class RowsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]  # none at run time
    """Rows to choose from; none means all."""

    def __init__(self, model: type[Model], help_text: str = ALL, *, required: bool = False) -> None:
        rows: QuerySet[Any] = model._default_manager.all()
        super().__init__(rows, widget=Picker(), help_text=help_text, required=required)


class RuleForm(WithoutHiddenForm):
    """Form of a rule: its events, its channels, and when messages go out."""

    name = forms.CharField(
        max_length=100,
        required=False,
        widget=UnfoldAdminTextInputWidget(),
        help_text="Empty: made from the choices above.",
    )
    channels = RowsField(Channel, "Where the messages go; made under Channels.", required=True)
    subjects = WordsField(
        Subject.choices,
        "None: alerts alone.",
        widget=Checkboxes(),
        label="What",
    )
    minimum_severity = forms.ChoiceField(
        choices=[
            (Severity.LOW, "Any"),
            (Severity.MEDIUM, "Medium or high"),
            (Severity.HIGH, "High only"),
        ],
        widget=UnfoldAdminSelectWidget(),
        label="Severity",
    )
    when = forms.ChoiceField(
        choices=[
            (AT_ONCE, "At once, one message for each alert"),
            (DAILY, "Once a day, one message for all"),
            (WEEKLY, "Once a week, one message for all"),
        ],
        widget=UnfoldAdminSelectWidget(),
        label="How often",
    )
    at = forms.TimeField(required=False, initial="08:00", widget=TimeOfDay(ONLY_DIGESTS))
    weekday = forms.TypedChoiceField(
        choices=list(enumerate(WEEKDAYS)),
        coerce=int,
        empty_value=None,
        required=False,
        widget=UnfoldAdminSelectWidget({"data-only-when": f"when={WEEKLY}"}),
        label="Day",
    )
    time_zone = forms.ChoiceField(
        choices=[(zone, zone) for zone in sorted(available_timezones())],
        initial=lambda: settings.TIME_ZONE,  # as of a schedule
        widget=UnfoldAdminSelect2Widget(ONLY_DIGESTS),
    )
    families = WordsField(family_choices)
    model_names = WordsField(model_choices, label="Models")
    metric_keys = WordsField(ALERTING, "None: all that are judged.", label="Metrics")
    machines = RowsField(Machine)
    tracks = RowsField(Track)
    minimum_effect_percent = forms.FloatField(
        min_value=0,
        initial=0,
        widget=UnfoldAdminDecimalFieldWidget(),
        label="Changes of at least, %",
        help_text="Of the largest change of the alert. Status words and counts are always "
        "reported.",
    )
    states = WordsField(
        AlertState.choices,
        "None: confirmed, missing reports, and recovered after that. Choose suspected to hear of "
        "what is not proven, and of what another system measured.",
    )

    class Meta:
        model = Rule
        fields = (
            "channels",
            "subjects",
            "minimum_severity",
            "when",
            "weekday",
            "at",
            "time_zone",
            "name",
            "enabled",
            "families",
            "model_names",
            "metric_keys",
            "machines",
            "tracks",
            "minimum_effect_percent",
            "states",
            "improvements",
        )
        help_texts = {"improvements": "Also report what got better."}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        when = cleaned.get("when")
        if when != AT_ONCE and not cleaned.get("at"):
            self.add_error("at", "Say at what time the digest is sent.")
        if when == WEEKLY and cleaned.get("weekday") is None:
            self.add_error("weekday", "Say on which day the digest is sent.")
        subjects = cleaned.get("subjects") or []
        if when != AT_ONCE and Subject.CANDIDATES in subjects:
            self.add_error(
                "subjects",
                "Release candidates are reported at once: choose that, or make a rule of its own "
                "for them.",
            )
        if when == AT_ONCE:
            cleaned["at"] = cleaned["weekday"] = None
        if self.errors:
            return cleaned
        if twin := self._same_rule(cleaned):
            self.add_error(
                None, f"The rule “{twin}” makes the same choices: this one would change nothing."
            )
        elif not cleaned["name"]:
            cleaned["name"] = self._free_name(cleaned)
        return cleaned

    def _same_rule(self, cleaned: dict[str, Any]) -> Rule | None:
        """Another rule that makes the same choices, where both are enabled."""
        if not cleaned["enabled"]:
            return None
        choices = _choices(cleaned)
        others = Rule.objects.filter(enabled=True).exclude(pk=self.instance.pk)
        for rule in others.prefetch_related("channels", "machines", "tracks"):
            if _choices(model_to_dict(rule)) == choices:
                return rule
        return None

    def _free_name(self, cleaned: dict[str, Any]) -> str:
        """As "ops, team: high, daily"; with a number where a rule has that name already."""
        names = ", ".join(channel.name for channel in cleaned["channels"])
        often = Rule.When(cleaned["when"]).label.lower()
        name = f"{names[:70]}: {cleaned['minimum_severity']}, {often}"
        taken = set(Rule.objects.exclude(pk=self.instance.pk).values_list("name", flat=True))
        number = 2
        free = name
        while free in taken:
            free, number = f"{name} ({number})", number + 1
        return free


def _choices(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the choices of a form or a rule, its times included; equal rules compare equal."""
    choices = {}
    for name in RuleForm.Meta.fields:
        value = values[name]
        # In any order
        choices[name] = frozenset(value) if isinstance(value, list | QuerySet) else value
    del choices["name"], choices["enabled"]
    if choices["when"] == AT_ONCE:
        del choices["time_zone"]
    return choices


@admin.register(Rule)
class RuleAdmin(PlainChoicesAdmin):
    form = RuleForm
    list_display = (
        "name",
        "enabled",
        "when",
        "minimum_severity",
        "minimum_effect_percent",
        "notifies",
        "last_digest_at",
    )
    list_filter = ("enabled", "when", "channels")
    search_fields = ("name",)
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "channels",
                    "subjects",
                    "minimum_severity",
                    "when",
                    "weekday",
                    "at",
                    "time_zone",
                )
            },
        ),
        (None, {"fields": ("name", "enabled")}),
        (
            "Only for …",
            {
                "classes": ["collapse"],
                "fields": (
                    "families",
                    "model_names",
                    "metric_keys",
                    "machines",
                    "tracks",
                    "minimum_effect_percent",
                    "states",
                    "improvements",
                ),
            },
        ),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Rule]:
        rules: QuerySet[Rule] = super().get_queryset(request)
        return rules.prefetch_related("channels")

    @admin.display(description="Notifies")
    def notifies(self, rule: Rule) -> str:
        return ", ".join(channel.name for channel in rule.channels.all()) or "nobody"
