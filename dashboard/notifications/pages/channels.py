"""Page of notifications: the rules as everybody may read them, and the state of their channels."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.notifications.selectors import channels


def show(request: HttpRequest) -> HttpResponse:
    """Rules in words; the log of messages for those who may see it."""
    may_see = request.user.has_perm("dashboard.view_delivery")
    rules = channels.rules()
    deliveries = channels.last_deliveries() if may_see else []
    context = {
        "rules": [(rule, channels.conditions(rule), channels.time_of(rule)) for rule in rules],
        "deliveries": [(delivery, channels.about(delivery)) for delivery in deliveries],
        "may_see": may_see,
    }
    return render(request, "notifications/channels.html", context)
