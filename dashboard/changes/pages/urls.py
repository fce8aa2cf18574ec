"""The addresses of one change: of an alert, of a case of two builds, of two jobs."""

from django.urls import path
from django.views.generic import RedirectView

from dashboard.changes.pages import changes, downloads

_REPORT = "/alerts/%(pk)s/report/"
_FOR_GOOD = {"permanent": True, "query_string": True}

urlpatterns = [
    path("change/", changes.show, name="change"),
    path("change/<slug:tab>/", changes.show, name="change_tab"),
    path("change/report.zip", downloads.change_files, name="change_report"),
    path("alerts/<int:pk>/", changes.alert, name="alert"),
    # Before the tabs, which take any word
    path("alerts/<int:pk>/issue/", RedirectView.as_view(url=_REPORT, **_FOR_GOOD)),
    path("alerts/<int:pk>/<slug:tab>/", changes.alert, name="alert_tab"),
    path("alerts/<int:pk>/bisect.sh", downloads.bisect_script, name="alert_bisect_script"),
    path("alerts/<int:pk>/report.zip", downloads.alert_files, name="alert_report"),
    path("alerts/<int:pk>/change.json", changes.trend, name="alert_change"),
]
