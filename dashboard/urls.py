"""Every address of the site: the admin, the API, two health checks, the metrics, and the pages."""

from django.contrib import admin
from django.urls import include, path

from dashboard.api.health import healthz, readyz
from dashboard.api.metrics import metrics
from dashboard.api.root import api_urls

urlpatterns = [
    path("admin/", admin.site.urls),
    path("api/v1/", api_urls()),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("", include("dashboard.views.urls")),
]

handler500 = "dashboard.views.failures.failed"
