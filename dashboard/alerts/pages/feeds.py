"""The Atom feed of alerts, with the inbox's filters in its address."""

from collections.abc import Mapping
from datetime import datetime

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.syndication.views import Feed
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.feedgenerator import Atom1Feed
from django.utils.html import format_html, format_html_join
from django.views.decorators.cache import cache_control
from django.views.decorators.http import conditional_page

from dashboard.alerts.pages.alerts import chosen_filters
from dashboard.alerts.selectors import alerts, inbox
from dashboard.models import AlertGroup
from dashboard.ui.badges import FRESH_S, badge_response
from dashboard.ui.pages.feed_keys import for_readers, is_from_reader

_MOST_ITEMS = 50


def _filters(request: HttpRequest) -> dict[str, str]:
    """The filters of the address, as the inbox has them."""
    choices = inbox.choices(request.GET.get("machine", ""), request.GET.get("track", ""))
    return chosen_filters(request, choices)


class AlertsFeed(Feed):  # type: ignore[type-arg]  # none at run time
    """The newest groups that fit the filters."""

    feed_type = Atom1Feed
    description = subtitle = "What changed in the models that are watched, and why"

    def get_object(self, request: HttpRequest) -> Mapping[str, str]:
        return _filters(request)

    def title(self, chosen: Mapping[str, str]) -> str:
        filters = ", ".join(f"{name} {value}" for name, value in chosen.items() if value)
        if not filters:
            return "Compilewatch alerts"
        return f"Compilewatch alerts ({filters})"

    def link(self, chosen: Mapping[str, str]) -> str:
        return reverse("alerts")

    def items(self, chosen: Mapping[str, str]) -> list[AlertGroup]:
        groups = inbox.listing(chosen, timezone.now()).annotate(moved_at=Max("events__at"))
        newest: list[AlertGroup] = list(groups[:_MOST_ITEMS])
        rows = alerts.alerts_of([group.pk for group in newest])
        for group in newest:
            own = [row for row in rows if row.alert.group_id == group.pk]
            group.rows = alerts.standing(own)  # type: ignore[attr-defined]  # for item_description
        return newest

    def item_title(self, item: AlertGroup) -> str:
        return item.title

    def item_description(self, item: AlertGroup) -> str:
        rows: list[alerts.AlertSummary] = item.rows  # type: ignore[attr-defined]  # set above
        state = format_html(
            "<p>{}, {}, severity {}, cause {}.</p>",
            item.get_evidence_state_display(),
            item.workflow_state,
            item.severity,
            item.cause,
        )
        if not rows:
            return state
        lines = format_html_join("", "<li>{}</li>", ((row.sentence,) for row in rows))
        return format_html("{}<ul>{}</ul>", state, lines)

    def item_pubdate(self, item: AlertGroup) -> datetime:
        return item.created_at

    def item_updateddate(self, item: AlertGroup) -> datetime:
        moved: datetime | None = item.moved_at  # type: ignore[attr-defined]  # annotated above
        return moved or item.created_at

    def item_guid(self, item: AlertGroup) -> str:
        return f"{settings.SITE_URL}{item.get_absolute_url()}"


@login_not_required
def feed(request: HttpRequest) -> HttpResponse:
    """The feed, for those who may read the site: everybody, who is signed in, or who has a key."""
    if is_from_reader(request):
        return AlertsFeed()(request)
    refusal = "This feed needs a key: sign in, open the alerts and copy the address of their feed."
    return HttpResponse(refusal, status=403)


@for_readers
@conditional_page
@cache_control(max_age=FRESH_S)
def alerts_badge(request: HttpRequest) -> HttpResponse:
    """Number of open alerts, with the inbox's filters."""
    count = inbox.listing(_filters(request), timezone.now()).count()
    label = request.GET.get("label", "")[:60] or "torch.compile alerts"
    if count:
        return badge_response(label, f"{count} open", "bad")
    return badge_response(label, "none open", "good")
