"""The log of messages: what was sent, what waits, what failed."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from dashboard.models import Delivery
from dashboard.notifications.selectors.channels import about
from dashboard.notifications.services.deliveries import send_again
from dashboard.ui.admin.base import ReadOnlyAdmin, confirmed


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
    list_select_related = (
        "channel",
        "event__group",
        "comparison__base",
        "comparison__new",
    )
    search_fields = ("answer", "event__group__title")
    actions = ("send_again",)
    list_before_template = "notifications/deliveries_note.html"

    @admin.display(description="About")
    def about(self, delivery: Delivery) -> str:
        return about(delivery)

    def has_send_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("dashboard.change_delivery"))

    @admin.action(description="Send again what failed", permissions=["send"])
    def send_again(self, request: HttpRequest, chosen: QuerySet[Delivery]) -> HttpResponse | None:
        def apply(selected: QuerySet[Delivery]) -> str:
            count = send_again(deliveries=selected, now=timezone.now())
            return f"{count} will be sent again within a minute."

        question = "Send these again? What has arrived after all arrives twice."
        return confirmed(self, request, chosen, question=question, apply=apply)
