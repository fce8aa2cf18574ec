"""The addresses of the alert pages, under /alerts/."""

from django.urls import path

from dashboard.views import alerts, feeds, telling, triage

urlpatterns = [
    path("", alerts.listing, name="alerts"),
    path("bulk", triage.bulk, name="alerts_bulk"),
    path("feed/", feeds.feed, name="alerts_feed"),
    path("rules/", telling.show, name="telling"),
    path("quality/", alerts.quality, name="alert_quality"),
    path("<int:pk>/", alerts.show, name="alert"),
    path("<int:pk>/code/", alerts.code, name="alert_code"),
    path("<int:pk>/change.json", alerts.change, name="alert_change"),
    path("<int:pk>/pairs.json", alerts.pairs, name="alert_pairs"),
    path("<int:pk>/<slug:name>", triage.act, name="alert_act"),
]
