"""Alerts, mutes, invalid points and annotations, to look at; triage happens on the alert's page."""

from django import forms
from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminSelectWidget

from dashboard.alerts.core.replay import replay
from dashboard.catalog.selectors.lookups import family_choices
from dashboard.models import Alert, AlertGroup, Annotation, FamilyOwner, InvalidPoint, Mute
from dashboard.ui.admin.base import ReadOnlyAdmin

_MOST_REPLAYED = 20


def _decide_again(alert: Alert) -> str:
    """Describe what today's detector decides of an alert, next to what was decided."""
    if not alert.decision.get("points"):
        return "it was not made by the detector, so there are no points to decide on."
    again = replay(alert.decision)
    if not again.differs:
        return f"was {again.stored}; today the same."
    return f"was {again.stored}; today {again.today or 'nothing with these points'}."


@admin.register(AlertGroup)
class AlertGroupAdmin(ReadOnlyAdmin):
    list_display = (
        "title",
        "evidence_state",
        "workflow_state",
        "severity",
        "cause",
        "direction",
        "series",
        "machine",
        "track",
        "assignee",
        "created_at",
    )
    list_filter = (
        "evidence_state",
        "workflow_state",
        "severity",
        "cause",
        "direction",
        "kind",
        "machine",
        "track",
        "assignee",
    )
    list_select_related = ("machine", "track", "assignee")
    search_fields = ("title", "events__text")
    actions = ("decide_again",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[AlertGroup]:
        groups: QuerySet[AlertGroup] = super().get_queryset(request)
        return groups.annotate(series_count=Count("alerts"))

    @admin.action(description="Decide again with today's detector", permissions=["view"])
    def decide_again(self, request: HttpRequest, chosen: QuerySet[AlertGroup]) -> None:
        """Show what today's detector makes of the stored points; nothing is changed."""
        alerts = Alert.objects.filter(group__in=chosen.values("pk"))
        related = alerts.select_related("series__benchmark", "series__config")
        for alert in related[:_MOST_REPLAYED]:
            case = f"{alert.series.benchmark} in {alert.series.config}"
            messages.info(request, f"Alert {alert.pk}, {case}: {_decide_again(alert)}")

    @admin.display(description="Series", ordering="series_count")
    def series(self, group: AlertGroup) -> int:
        return int(group.series_count)  # type: ignore[attr-defined]  # annotated above


class FamilyOwnerForm(forms.ModelForm):  # type: ignore[type-arg]  # none at run time
    """One of the families that have benchmarks, and who looks after it."""

    family = forms.ChoiceField(choices=family_choices, widget=UnfoldAdminSelectWidget)

    class Meta:
        model = FamilyOwner
        fields = ("family", "owner")
        help_texts = {"owner": "New alerts about the family are assigned to them."}


@admin.register(FamilyOwner)
class FamilyOwnerAdmin(ModelAdmin):
    form = FamilyOwnerForm
    list_display = ("family", "owner")
    list_filter = ("owner",)
    list_select_related = ("owner",)
    search_fields = ("family", "owner__username")


@admin.register(Mute)
class MuteAdmin(ReadOnlyAdmin):
    list_display = ("series", "until", "reason", "by", "created_at")
    list_filter = ("until", "by")
    list_select_related = ("series", "by")
    search_fields = ("reason", "series__benchmark__name")


@admin.register(InvalidPoint)
class InvalidPointAdmin(ReadOnlyAdmin):
    list_display = ("series", "job", "reason", "by", "at")
    list_filter = ("at", "by")
    list_select_related = ("series", "job__benchmark", "job__config", "by")
    search_fields = ("reason", "series__benchmark__name")


@admin.register(Annotation)
class AnnotationAdmin(ModelAdmin):
    list_display = ("text", "benchmark", "at", "by")
    list_filter = ("by",)
    list_select_related = ("benchmark", "by")
    search_fields = ("text", "benchmark__name")
    autocomplete_fields = ("benchmark",)
    readonly_fields = ("by",)
