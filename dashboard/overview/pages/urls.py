"""The addresses of the overview and of the fleet."""

from django.urls import path

from dashboard.overview.pages import fleet, overview

urlpatterns = [
    path("", overview.show, name="overview"),
    path("overview/active/", overview.active, name="overview_active"),
    path("fleet/", fleet.show, name="fleet"),
]
