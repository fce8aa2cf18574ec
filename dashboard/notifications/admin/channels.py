"""Who is notified: channels, rules, and the log of what was sent."""

import secrets
from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from unfold.admin import ModelAdmin
from unfold.decorators import action
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminSelect2Widget

from dashboard.language.metrics import METRICS
from dashboard.models import AlertState, Benchmark, Channel, Delivery, Rule
from dashboard.notifications.services.deliveries import send_again, send_test
from dashboard.notifications.transports import channels
from dashboard.notifications.transports.message import Address, NotSent
from dashboard.notifications.transports.webhook import PREFIX
from dashboard.runs.forms import family_choices
from dashboard.ui.admin.base import ReadOnlyAdmin, WithoutHiddenForm, confirmed

EXAMPLES = (
    "webhook+https://hooks.example.org/compilewatch (ours, signed) · "
    "mailtos://user:password@smtp.example.org?to=team@example.org"
    " · slack://… · msteams or workflows://… · anything from https://appriseit.com/services."
)


class ChannelForm(forms.ModelForm):  # type: ignore[type-arg]  # no type arguments at run time
    """An address that is never shown again: leaving it empty keeps it."""

    class Meta:
        model = Channel
        fields = ("name", "url", "enabled")
        labels = {"url": "Address"}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "url" not in self.fields:  # a viewer who may not change it
            return
        self.fields["url"].help_text = EXAMPLES
        if self.instance.pk:
            self.fields["url"].required = False
            self.fields["url"].help_text = f"Empty: it stays as it is. {EXAMPLES}"
            self.initial["url"] = ""

    def clean_url(self) -> str:
        url = self.cleaned_data["url"].strip() or self.instance.url
        try:
            channels.check(Address(url, allow_private=settings.ALLOW_PRIVATE_WEBHOOKS))
        except NotSent as refusal:
            raise forms.ValidationError(str(refusal)) from None
        return str(url)


@admin.register(Channel)
class ChannelAdmin(ModelAdmin):
    form = ChannelForm
    list_display = ("name", "address", "enabled", "problem")
    list_filter = ("enabled",)
    search_fields = ("name",)
    readonly_fields = ("address", "is_signed", "problem")
    actions = ("new_secret",)
    actions_detail = ("send_a_test",)

    def get_fields(self, request: HttpRequest, obj: Channel | None = None) -> Any:
        shown = ("name", "address", "is_signed", "enabled", "problem")
        if not self.has_change_permission(request, obj):
            return shown
        if obj is None:
            return ("name", "url", "enabled")
        return ("name", "url", "enabled", "address", "is_signed", "problem")

    @admin.display(description="Leads to")
    def address(self, channel: Channel) -> str:
        return channels.masked(channel.url)

    @admin.display(boolean=True, description="Signed")
    def is_signed(self, channel: Channel) -> bool:
        return bool(channel.secret)

    def save_model(self, request: HttpRequest, obj: Channel, form: Any, change: bool) -> None:
        if obj.enabled:
            obj.problem = ""
        if obj.url.startswith(PREFIX) and not obj.secret:
            self.set_secret(request, obj)
        obj.save()

    def set_secret(self, request: HttpRequest, channel: Channel) -> None:
        """Give the channel a new secret, and show it this once."""
        channel.secret = secrets.token_urlsafe(32)
        messages.warning(
            request, f"The secret that signs {channel}, shown this once: {channel.secret}"
        )

    @admin.action(description="New secret", permissions=["change"])
    def new_secret(self, request: HttpRequest, chosen: QuerySet[Channel]) -> HttpResponse | None:
        def apply(selected: QuerySet[Channel]) -> str:
            for channel in selected:
                self.set_secret(request, channel)
                channel.save(update_fields=["secret"])
            return "What is sent from now on is signed with the new ones."

        return confirmed(
            self, request, chosen, question="Give these channels new secrets?", apply=apply
        )

    @action(description="Send a test", url_path="send-a-test", permissions=["change"])
    def send_a_test(self, request: HttpRequest, object_id: int) -> HttpResponseRedirect:
        sent = send_test(channel=get_object_or_404(Channel, pk=object_id), now=timezone.now())
        if sent.state == Delivery.State.SENT:
            messages.success(request, f"Sent. The channel said: {sent.answer}")
        else:
            messages.error(request, f"Not sent. The channel said: {sent.answer}")
        return HttpResponseRedirect(reverse("admin:dashboard_channel_change", args=[object_id]))


class ChoicesField(forms.MultipleChoiceField):
    """Words to choose from; none means all."""

    def __init__(self, choices: Any, help_text: str) -> None:
        widget = UnfoldAdminCheckboxSelectMultipleWidget()
        super().__init__(choices=choices, required=False, widget=widget, help_text=help_text)


def model_choices() -> list[tuple[str, str]]:
    models = Benchmark.objects.filter(retired=False).order_by("model")
    return [(name, name) for name in models.values_list("model", flat=True).distinct()]


ALERTING = [(metric.key, metric.label) for metric in METRICS.values() if metric.alerts]
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
ZONES = [(zone, zone) for zone in sorted(available_timezones())]


class RuleForm(WithoutHiddenForm):
    """Which events, to which channels, when."""

    families = ChoicesField(family_choices, "None: all.")
    model_names = ChoicesField(model_choices, "None: all.")
    metric_keys = ChoicesField(ALERTING, "None: all that are judged.")
    states = ChoicesField(
        AlertState.choices,
        "None: confirmed, missing reports, and recovered after that. Choose suspected to hear of "
        "what is not proven.",
    )
    weekday = forms.TypedChoiceField(
        choices=[("", "–"), *enumerate(WEEKDAYS)],
        coerce=int,
        empty_value=None,
        required=False,
        widget=UnfoldAdminSelect2Widget(),
        help_text="Of a weekly digest.",
    )
    time_zone = forms.ChoiceField(choices=ZONES, initial="UTC", widget=UnfoldAdminSelect2Widget())

    class Meta:
        model = Rule
        fields = (
            "name",
            "enabled",
            "channels",
            "families",
            "model_names",
            "metric_keys",
            "machines",
            "tracks",
            "minimum_effect_percent",
            "minimum_severity",
            "states",
            "improvements",
            "when",
            "at",
            "weekday",
            "time_zone",
        )
        labels = {"model_names": "Models", "metric_keys": "Metrics", "when": "When", "at": "At"}
        help_texts = {
            "machines": "None: all.",
            "tracks": "None: all.",
            "minimum_effect_percent": "Of the largest change of the alert; status words and "
            "counts always count.",
            "improvements": "Also notify of what got better.",
            "at": "Of a digest, in the time zone below.",
        }

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        when = cleaned.get("when")
        if when != Rule.When.AT_ONCE and not cleaned.get("at"):
            self.add_error("at", "Say at what time the digest is sent.")
        if when == Rule.When.WEEKLY and cleaned.get("weekday") is None:
            self.add_error("weekday", "Say on which day the digest is sent.")
        return cleaned


@admin.register(Rule)
class RuleAdmin(ModelAdmin):
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
    filter_horizontal = ("channels", "machines", "tracks")
    compressed_fields = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[Rule]:
        rules: QuerySet[Rule] = super().get_queryset(request)
        return rules.prefetch_related("channels")

    @admin.display(description="Notifies")
    def notifies(self, rule: Rule) -> str:
        return ", ".join(channel.name for channel in rule.channels.all()) or "nobody"


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin):
    """The log of messages."""

    list_display = (
        "created_at",
        "channel",
        "about",
        "state",
        "attempts",
        "next_at",
        "sent_at",
        "answer",
    )
    list_filter = ("state", "channel")
    list_select_related = ("channel", "event__group")
    search_fields = ("answer", "event__group__title")
    actions = ("send_again",)

    @admin.display(description="About")
    def about(self, delivery: Delivery) -> str:
        return str(delivery.event.group) if delivery.event else f"digest or test: {delivery.digest}"

    def has_send_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("dashboard.change_delivery"))

    @admin.action(description="Send again what failed", permissions=["send"])
    def send_again(self, request: HttpRequest, chosen: QuerySet[Delivery]) -> HttpResponse | None:
        def apply(selected: QuerySet[Delivery]) -> str:
            count = send_again(deliveries=selected, now=timezone.now())
            return f"{count} will be sent again within a minute."

        question = "Send these again? What has arrived after all arrives twice."
        return confirmed(self, request, chosen, question=question, apply=apply)
