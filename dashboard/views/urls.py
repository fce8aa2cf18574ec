"""The pages' addresses. Every state of a page is in its address, so that a link shows what its
sender saw.
"""

from django.conf import settings
from django.contrib.auth.views import LogoutView
from django.urls import include, path, re_path

from dashboard import single_sign_on
from dashboard.views import (
    benchmarks,
    data_export,
    docs,
    fleet,
    jobs,
    overview,
    runs,
    saved_views,
    search,
    tokens,
)

urlpatterns = [
    path("", overview.show, name="overview"),
    path("overview/active/", overview.active, name="overview_active"),
    path("benchmarks/", benchmarks.show, name="benchmarks"),
    re_path(
        r"^benchmarks/export\.(?P<form>csv|json)$", benchmarks.export, name="benchmarks_export"
    ),
    path("", include("dashboard.views.trend_urls")),
    path("", include("dashboard.views.version_urls")),
    path("runs/", runs.listing, name="runs"),
    path("runs/<int:pk>/", runs.show, name="run"),
    path("runs/<int:pk>/cancel", runs.cancel, name="run_cancel"),
    path("runs/<int:pk>/retry", runs.retry, name="run_retry"),
    path("jobs/<uuid:uuid>/", jobs.show, name="job"),
    re_path(
        r"^jobs/(?P<uuid>[0-9a-f-]{36})/samples/(?P<figure>distribution|order)\.json$",
        jobs.samples,
        name="job_samples",
    ),
    path("jobs/<uuid:uuid>/code/", jobs.code, name="job_code"),
    path("artifacts/<int:pk>/", jobs.artifact, name="artifact"),
    path("alerts/", include("dashboard.views.alert_urls")),
    path("", include("dashboard.views.outward_urls")),
    path("fleet/", fleet.show, name="fleet"),
    re_path(
        r"^export/data\.(?P<form>csv|jsonl|v3|parquet)$", data_export.export, name="data_export"
    ),
    path("docs/", docs.index, name="docs"),
    path("docs/screenshots/<str:name>", docs.picture, name="docs_picture"),
    path("docs/<slug:slug>/", docs.page, name="docs_page"),
    path("glossary/", fleet.glossary, name="glossary"),
    path("tokens/", tokens.listing, name="tokens"),
    path("tokens/<int:pk>/revoke", tokens.revoke, name="token_revoke"),
    path("search/", search.show, name="search"),
    path("views/", saved_views.listing, name="saved_views"),
    path("views/save", saved_views.save, name="saved_view_save"),
    path("views/<int:pk>", saved_views.change, name="saved_view"),
    path(
        "sign-in/",
        saved_views.SignIn.as_view(extra_context={"single_sign_on": settings.OIDC_ISSUER}),
        name="sign_in",
    ),
    *single_sign_on.urlpatterns(),
    path("sign-out/", LogoutView.as_view(next_page="/"), name="sign_out"),
]
