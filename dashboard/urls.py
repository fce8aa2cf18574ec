"""Every address of the site: the admin, the API, two health checks, the metrics, and the pages.

Every state of a page is in its address, so that a link shows what its sender saw.
"""

from django.contrib import admin
from django.urls import include, path

from dashboard.results.admin.importing import import_page
from dashboard.site.api.health import healthz, readyz
from dashboard.site.api.metrics import metrics
from dashboard.site.api.root import api_urls

SUBJECTS = (
    "home",
    "trends",
    "comparisons",
    "runs",
    "results",
    "changes",
    "notifications",  # before the alerts: theirs end with `<slug:name>`
    "alerts",
    "accounts",
    "site",
)

urlpatterns = [
    path("admin/import-results/", admin.site.admin_view(import_page), name="import_results"),
    path("admin/", admin.site.urls),
    path("api/v1/", api_urls()),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    *(path("", include(f"dashboard.{subject}.pages.urls")) for subject in SUBJECTS),
]

handler400 = "dashboard.ui.pages.failures.not_understood"
handler500 = "dashboard.ui.pages.failures.failed"
