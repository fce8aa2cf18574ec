"""The addresses that other people's pages show."""

from django.urls import path

from dashboard.views import outward

urlpatterns = [
    path("badge/alerts.svg", outward.alerts_badge, name="alerts_badge"),
    path("badge/<str:name>/<slug:config>.svg", outward.badge, name="badge"),
    path("embed/series/<str:name>/", outward.embed, name="embed"),
    path("embed/series/<str:name>/data.json", outward.embed_data, name="embed_data"),
    path("oembed", outward.oembed, name="oembed"),
]
