"""The pages' addresses. Every state of a page is in its address, so that a link shows what its sender saw."""

from django.conf import settings
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path, re_path

from dashboard import single_sign_on
from dashboard.views import advisor, benchmarks, docs, fleet, jobs, overview, runs, series, series_marks, tokens

urlpatterns = [
    path("", overview.show, name="overview"),
    path("overview/active/", overview.active, name="overview_active"),
    path("benchmarks/", benchmarks.show, name="benchmarks"),
    re_path(r"^benchmarks/export\.(?P<form>csv|json)$", benchmarks.export, name="benchmarks_export"),
    path("series/<str:name>/", series.show, name="series"),
    path("series/<str:name>/data.json", series.data, name="series_data"),
    re_path(r"^series/(?P<name>[^/]+)/export\.(?P<form>csv|json)$", series.export, name="series_export"),
    path("", include("dashboard.views.version_urls")),
    path("runs/", runs.listing, name="runs"),
    path("runs/<int:pk>/", runs.show, name="run"),
    path("runs/<int:pk>/cancel", runs.cancel, name="run_cancel"),
    path("runs/<int:pk>/retry", runs.retry, name="run_retry"),
    path("jobs/<uuid:uuid>/", jobs.show, name="job"),
    re_path(
        r"^jobs/(?P<uuid>[0-9a-f-]{36})/samples/(?P<figure>distribution|order)\.json$", jobs.samples, name="job_samples"
    ),
    path("artifacts/<int:pk>/", jobs.artifact, name="artifact"),
    path("series/<str:name>/remarks", series_marks.add, name="remark_add"),
    path("series/<str:name>/remarks/<int:pk>/remove", series_marks.remove, name="remark_remove"),
    path("alerts/", include("dashboard.views.alert_urls")),
    path("advisor/", advisor.listing, name="advisor_list"),
    path("advisor/<str:name>/", advisor.show, name="advisor"),
    path("advisor/<str:name>/data.json", advisor.data, name="advisor_data"),
    re_path(r"^advisor/(?P<name>[^/]+)/export\.(?P<form>csv|json)$", advisor.export, name="advisor_export"),
    path("fleet/", fleet.show, name="fleet"),
    path("docs/", docs.index, name="docs"),
    path("docs/screenshots/<str:name>", docs.picture, name="docs_picture"),
    path("docs/<slug:slug>/", docs.page, name="docs_page"),
    path("glossary/", fleet.glossary, name="glossary"),
    path("tokens/", tokens.listing, name="tokens"),
    path("tokens/<int:pk>/revoke", tokens.revoke, name="token_revoke"),
    path(
        "sign-in/",
        LoginView.as_view(
            template_name="sign_in.html",
            redirect_authenticated_user=True,
            extra_context={"single_sign_on": settings.OIDC_ISSUER},
        ),
        name="sign_in",
    ),
    *single_sign_on.urlpatterns(),
    path("sign-out/", LogoutView.as_view(next_page="/"), name="sign_out"),
]
