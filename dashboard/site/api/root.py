"""The API under /api/v1/, described in openapi.json. Every error is {"detail": "what, where, what
to do"}.
"""

from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern
from django.views.decorators.http import conditional_page
from ninja import NinjaAPI
from ninja.errors import ValidationError
from ninja.openapi.schema import OpenAPISchema
from ninja.parser import Parser

from dashboard.alerts.api import alerts, triage
from dashboard.catalog.api import catalog
from dashboard.catalog.core.plan import PlanError
from dashboard.catalog.services.suite_catalog import CatalogError
from dashboard.comparisons.api import bisections, comparisons
from dashboard.language.contracts import Refused, TooLarge
from dashboard.language.errors import ActionNotAllowed
from dashboard.results.api import jobs, results, worker
from dashboard.results.core.artifact_store import StoreUnavailable
from dashboard.results.core.result_format import parse_json
from dashboard.runs.api import runs, schedules
from dashboard.runs.services.leases import Stale
from dashboard.site.api.pages import SitePage
from dashboard.trends.api import series


class Api(NinjaAPI):
    """The API with the first sentence of each call's text as its summary: a function's name says
    less.
    """

    def get_openapi_schema(self, **how: Any) -> OpenAPISchema:
        schema = super().get_openapi_schema(**how)
        for path in schema["paths"].values():
            for call in path.values():
                first = call["description"].partition(". ")[0].partition(";")[0].rstrip(".")
                # a summary is plain text, a description is Markdown
                call["summary"] = first.replace("`", "")
        return schema


class StrictParser(Parser):
    """JSON without NaN and Infinity, and without the NULs that Postgres cannot store. Raises
    Refused.
    """

    def parse_body(self, request: HttpRequest) -> Any:
        return parse_json(request.body)


ABOUT = """Everything that the pages show and do. Send `Authorization: Bearer cw_…`.

Lists come in pages: follow `next` until it is null. Answers carry an `ETag`; send it back as `If-None-Match`, and what
has not changed is answered 304 without a body. Errors are `{"detail": "what, where, what to do"}`."""
WORKERS = "worker/"
SITE_PAGES = ("docs",)  # a page of the site, for whom the pages are
api = Api(
    title="Compilewatch",
    version="1",
    description=ABOUT,
    urls_namespace="api",
    parser=StrictParser(),
    docs=SitePage(),
)
for one in (
    catalog,
    series,
    jobs,
    runs,
    schedules,
    comparisons,
    bisections,
    alerts,
    triage,
    results,
):
    api.add_router("", one.router)
api.add_router(WORKERS, worker.router)
STATUS: dict[type[Exception], int] = {
    Stale: 409,
    ActionNotAllowed: 409,
    TooLarge: 413,
    Refused: 422,
    CatalogError: 422,
    PlanError: 422,
    Http404: 404,
    StoreUnavailable: 503,
}


def api_urls() -> Any:
    """What `path()` mounts. The API asks for itself who calls, and answers programs; no address
    leads to a sign-in.

    Each answer to GET gets an ETag, of its content.
    """
    patterns, app_name, namespace = api.urls
    for pattern in patterns:
        if isinstance(pattern, URLPattern) and str(pattern.pattern) not in SITE_PAGES:
            pattern.callback = login_not_required(conditional_page(pattern.callback))
    return patterns, app_name, namespace


def tell(request: HttpRequest, error: Exception | type[Exception]) -> HttpResponse:
    status = next(code for kind, code in STATUS.items() if isinstance(error, kind))
    return api.create_response(request, {"detail": str(error)}, status=status)


for kind in STATUS:
    api.add_exception_handler(kind, tell)


@api.exception_handler(ValidationError)
def tell_invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """One sentence for each field, with its path."""
    told = [f"{'.'.join(str(step) for step in one['loc'])}: {one['msg']}" for one in error.errors]
    return api.create_response(request, {"detail": "; ".join(told)}, status=422)
