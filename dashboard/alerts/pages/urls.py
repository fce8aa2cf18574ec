"""The addresses of the alert pages, and of what other programs read."""

from django.urls import path

from dashboard.alerts.pages import alerts, feeds, triage

urlpatterns = [
    path("badge/alerts.svg", feeds.alerts_badge, name="alerts_badge"),
    path("alerts/", alerts.listing, name="alerts"),
    path("alerts/bulk", triage.bulk, name="alerts_bulk"),
    path("alerts/feed/", feeds.feed, name="alerts_feed"),
    path("alerts/<int:pk>/<slug:name>", triage.act, name="alert_act"),
]
