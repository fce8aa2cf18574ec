"""The addresses of the alert pages, and of what other programs read."""

from django.urls import path

from dashboard.alerts.pages import alerts, feeds, reports, triage

urlpatterns = [
    path("badge/alerts.svg", feeds.alerts_badge, name="alerts_badge"),
    path("alerts/", alerts.listing, name="alerts"),
    path("alerts/bulk", triage.bulk, name="alerts_bulk"),
    path("alerts/feed/", feeds.feed, name="alerts_feed"),
    path("alerts/<int:pk>/", alerts.show, name="alert"),
    path("alerts/<int:pk>/code/", alerts.code, name="alert_code"),
    path("alerts/<int:pk>/issue/", reports.issue, name="alert_issue"),
    path("alerts/<int:pk>/bisect.sh", reports.bisect_script, name="alert_bisect_script"),
    path("alerts/<int:pk>/report.zip", reports.files, name="alert_report"),
    path("alerts/<int:pk>/change.json", alerts.change, name="alert_change"),
    path("alerts/<int:pk>/pairs.json", alerts.pairs, name="alert_pairs"),
    path("alerts/<int:pk>/<slug:name>", triage.act, name="alert_act"),
]
