"""The addresses of home and of the fleet."""

from django.urls import path

from dashboard.home.pages import fleet, home

urlpatterns = [
    path("", home.show, name="home"),
    path("active-runs/", home.active, name="active_runs"),
    path("fleet/", fleet.show, name="fleet"),
]
