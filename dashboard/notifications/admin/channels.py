"""Channels: where messages go. A kind is chosen, and its one field is filled in."""

import secrets
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from unfold.admin import ModelAdmin
from unfold.decorators import action
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from dashboard.models import Channel, Delivery
from dashboard.notifications.core.kinds import MAIL_PREFIX, WEBHOOK_PREFIX, Kind, kind_of, url_of
from dashboard.notifications.services.deliveries import send_test
from dashboard.notifications.transports import channels
from dashboard.notifications.transports.mail import NO_SERVER
from dashboard.notifications.transports.message import Address, NotSent
from dashboard.ui.admin.base import confirmed

KIND_LABELS = {
    Kind.MAIL: "E-mail",
    Kind.SLACK: "Slack",
    Kind.TEAMS: "Microsoft Teams",
    Kind.WEBHOOK: "Webhook (JSON, signed)",
    Kind.OTHER: "Other service, through Apprise",
}
# The field of each kind: its label, an example, and what to put there
FIELDS = {
    Kind.MAIL: (
        "Send to",
        "ada@example.org, team@example.org",
        "One or more e-mail addresses. This site's mail server sends it.",
    ),
    Kind.SLACK: (
        "Slack webhook URL",
        "https://hooks.slack.com/services/…",
        "In Slack: your app, Incoming Webhooks, Add New Webhook to Workspace; choose the channel "
        "and copy the URL.",
    ),
    Kind.TEAMS: (
        "Teams workflow URL",
        "https://….logic.azure.com/…",
        "In Teams: the channel's Workflows, “Send webhook alerts to a channel”; copy the URL that "
        "it gives.",
    ),
    Kind.WEBHOOK: (
        "Webhook URL",
        "https://hooks.example.org/compilewatch",
        "It receives a POST with a JSON document. The secret that signs it is shown once after "
        "saving. With http:// others on the way can read it.",
    ),
    Kind.OTHER: (
        "Apprise address",
        "discord://…",
        "Discord, Matrix, another mail server and more: https://appriseit.com/services lists them.",
    ),
}


def _field(kind: Kind) -> forms.CharField:
    label, example, help_text = FIELDS[kind]
    attrs = {"placeholder": example, "data-only-when": f"kind={kind}", "autocomplete": "off"}
    widget = UnfoldAdminTextInputWidget(attrs)
    return forms.CharField(
        max_length=980, required=False, widget=widget, label=label, help_text=help_text
    )


class ChannelForm(forms.ModelForm):  # type: ignore[type-arg]  # no type arguments at run time
    """A kind and its address. An address may be a secret: leaving it empty keeps it."""

    kind = forms.ChoiceField(choices=list(KIND_LABELS.items()), widget=UnfoldAdminSelectWidget)
    # Each has the name of its kind; only that of the chosen kind is read
    mail = _field(Kind.MAIL)
    slack = _field(Kind.SLACK)
    teams = _field(Kind.TEAMS)
    webhook = _field(Kind.WEBHOOK)
    other = _field(Kind.OTHER)

    class Meta:
        model = Channel
        fields = ("name", "person", "enabled")
        help_texts = {
            "name": "As it is called in rules.",
            "person": "Whose own it is: what is assigned or handed over to them goes "
            "there without a rule. Empty: nobody's.",
        }

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "kind" not in self.fields:  # a viewer who may not change it
            return
        if not settings.EMAIL_URL:
            self.fields["mail"].help_text = NO_SERVER
        url = self.instance.url
        if not url:
            return
        kept = kind_of(url)
        self.initial["kind"] = kept
        if kept == Kind.MAIL:
            self.initial[kept] = url.removeprefix(MAIL_PREFIX)
        else:
            field = self.fields[kept]
            field.help_text = f"Empty: it stays {channels.masked(url)}. {field.help_text}"

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if not cleaned.get("kind"):
            return cleaned
        kind = Kind(cleaned["kind"])
        text = (cleaned.get(kind) or "").strip()
        if not text and self.instance.url and kind_of(self.instance.url) == kind != Kind.MAIL:
            return cleaned
        try:
            self.instance.url = self._checked_url(kind, text)
        except (ValueError, NotSent) as refusal:
            self.add_error(kind, str(refusal))
        return cleaned

    def _checked_url(self, kind: Kind, text: str) -> str:
        """The URL to store. Raises ValueError and NotSent, which say what is wrong."""
        if not text:
            raise ValueError("This field is required.")
        url = url_of(kind, text)
        channels.check(Address(url, allow_private=settings.ALLOW_PRIVATE_WEBHOOKS))
        return url


@admin.register(Channel)
class ChannelAdmin(ModelAdmin):
    form = ChannelForm
    list_display = ("name", "kind", "address", "person", "enabled", "problem")
    list_select_related = ("person",)
    list_filter = ("enabled",)
    search_fields = ("name",)
    readonly_fields = ("address", "is_signed", "problem")
    actions = ("new_secret",)
    actions_detail = ("send_a_test",)

    def get_fields(self, request: HttpRequest, obj: Channel | None = None) -> Any:
        if not self.has_change_permission(request, obj):
            return ("name", "address", "is_signed", "person", "enabled", "problem")
        editable = ("name", "kind", *Kind, "person", "enabled")
        if obj is None:
            return editable
        if kind_of(obj.url) == Kind.WEBHOOK:  # nothing else can be signed
            return (*editable, "is_signed", "problem")
        return (*editable, "problem")

    @admin.display(description="Kind")
    def kind(self, channel: Channel) -> str:
        return KIND_LABELS[kind_of(channel.url)]

    @admin.display(description="Leads to")
    def address(self, channel: Channel) -> str:
        return channels.masked(channel.url)

    @admin.display(boolean=True, description="Signed")
    def is_signed(self, channel: Channel) -> bool:
        return bool(channel.secret)

    def save_model(self, request: HttpRequest, obj: Channel, form: Any, change: bool) -> None:
        if obj.enabled:
            obj.problem = ""
        if obj.url.startswith(WEBHOOK_PREFIX) and not obj.secret:
            self.set_secret(request, obj)
        obj.save()

    def response_add(
        self, request: HttpRequest, obj: Channel, post_url_continue: str | None = None
    ) -> HttpResponse:
        """To its own page, whose button tries whether a message arrives."""
        messages.success(request, f"{obj} is saved. Send a test to see whether it arrives.")
        return redirect("admin:dashboard_channel_change", obj.pk)

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
