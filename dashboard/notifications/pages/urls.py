"""The address of the page that shows who is notified of what."""

from django.urls import path

from dashboard.notifications.pages import channels

urlpatterns = [
    path("alerts/rules/", channels.show, name="telling"),
]
