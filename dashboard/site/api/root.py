"""The API under /api/v1/, described in openapi.json.

Every error is {"detail": "what, where, what to do"}.
"""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import URLPattern, re_path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import conditional_page
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError, ValidationErrorContext
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation
from ninja.parser import Parser
from ninja.renderers import JSONRenderer
from ninja.responses import NinjaJSONEncoder

from dashboard.advisor.api import advice
from dashboard.alerts.api import alerts, evidence, triage
from dashboard.catalog.api import catalog
from dashboard.catalog.core.plan import PlanError
from dashboard.catalog.services.suite_catalog import CatalogError
from dashboard.comparisons.api import bisections, comparisons, reports
from dashboard.language.contracts import REPORTED_ERRORS, Refused, TooLarge
from dashboard.language.errors import ActionNotAllowed
from dashboard.language.finite_json import FiniteEncoder
from dashboard.results.api import jobs, results, worker
from dashboard.results.core.artifact_store import StoreUnavailable
from dashboard.results.core.untrusted import parse_json
from dashboard.runs.api import runs, schedules
from dashboard.runs.services.leases import Stale
from dashboard.site.api import description, search, unknown_names
from dashboard.site.api.pages import SitePage
from dashboard.site.removed import CALLS
from dashboard.trends.api import series


class Api(NinjaAPI):
    """The API with a description that is enough to use it."""

    def get_openapi_operation_id(self, operation: Operation) -> str:
        """Its file and its function, as `alerts_listing`: programs keep it, so it must stay."""
        subject = operation.view_func.__module__.rpartition(".")[2]
        return f"{subject}_{operation.view_func.__name__}"

    def get_openapi_schema(self, **how: Any) -> OpenAPISchema:
        access = {}
        for operation in self.operations():
            access[self.get_openapi_operation_id(operation)] = operation.auth_callbacks
        schema = super().get_openapi_schema(**how)
        description.complete(schema, access)
        return schema

    def operations(self) -> Iterator[Operation]:
        for router in self._get_bound_routers():
            for path in router.path_operations.values():
                yield from path.operations

    def validation_error_from_error_contexts(
        self, error_contexts: list[ValidationErrorContext[Any]]
    ) -> ValidationError:
        error = super().validation_error_from_error_contexts(error_contexts)
        unknown_names.name_fields(error, error_contexts)
        return error


class StrictParser(Parser):
    """JSON without NaN, Infinity, and the NULs that Postgres cannot store, and not too long.

    Raises Refused.
    """

    def parse_body(self, request: HttpRequest) -> Any:
        limit = settings.DOCUMENT_LIMIT_BYTES
        if request.path.startswith(WORKERS_PATH):
            limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        # Before it is read
        if int(request.headers.get("Content-Length") or 0) > limit:
            raise TooLarge(f"longer than {limit // 1024} kB, the limit of this call")
        return parse_json(request.body)


class AnswerEncoder(FiniteEncoder, NinjaJSONEncoder):
    """Ninja's, with null for numbers that are not finite."""


class Renderer(JSONRenderer):
    encoder_class = AnswerEncoder


ABOUT = (
    "Everything that the pages show and do. Send `Authorization: Bearer cw_…`.\n"
    "\n"
    "An interval (`low`, `high`) is a 95% interval. A change is as sure as its evidence says: "
    "*suspected* is not *confirmed*.\nA case that fails is data: its value is null, never 0.\n"
    "\n"
    "Lists come in pages: follow `next` until it is null. Answers carry an `ETag`; send it back as "
    "`If-None-Match`, and what\nhas not changed is answered 304 without a body. "
    'Errors are `{"detail": "what, where, what to do"}`.'
)
WORKERS = "worker/"
WORKERS_PATH = f"/api/v1/{WORKERS}"
HAVE_UUIDS = ("comparisons", "jobs")  # not numbers, as alerts and runs have
SITE_PAGES = ("docs",)  # read like the site's other pages, after signing in
api = Api(
    title="Compilewatch",
    version="1",
    description=ABOUT,
    urls_namespace="api",
    parser=StrictParser(),
    renderer=Renderer(),
    docs=SitePage(),
)
for module in (
    catalog,
    series,
    jobs,
    runs,
    schedules,
    comparisons,
    reports,
    bisections,
    alerts,
    evidence,
    triage,
    advice,
    search,
    results,
):
    api.add_router("", module.router)
api.add_router(WORKERS, worker.router)
for operation in api.operations():
    # A worker may be older or newer than the site: what only one of them knows is left out
    if operation.view_func.__module__ != worker.__name__:
        unknown_names.refuse_parameters(operation)
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
    """What `path()` mounts; each answer to GET gets an ETag of its content.

    The API checks for itself who calls: a program is never redirected to a sign-in.
    """
    patterns, app_name, namespace = api.urls
    for pattern in patterns:
        if isinstance(pattern, URLPattern) and str(pattern.pattern) not in SITE_PAGES:
            answer = conditional_page(_refuse_method(pattern.callback))
            pattern.callback = login_not_required(answer)
        if isinstance(pattern, URLPattern) and pattern.name == "api-root":
            pattern.callback = refuse_address
    return [*patterns, re_path("^(?P<path>.*)$", refuse_address)], app_name, namespace


@login_not_required
@csrf_exempt
def refuse_address(request: HttpRequest, path: str = "") -> HttpResponse:
    """404 as JSON, where a program would otherwise get a page; 410 for what was removed."""
    subject, _, rest = path.partition("/")
    if subject in CALLS:
        return api.create_response(request, {"detail": CALLS[subject]}, status=410)
    detail = f"There is no call {request.method} {request.path:.200}: /api/v1/docs lists them."
    if rest and subject in HAVE_UUIDS:
        detail += f" The id is the uuid in the page's address; `GET {subject}` lists them."
    return api.create_response(request, {"detail": detail}, status=404)


def _refuse_method(answer: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Have an address say as JSON which methods it takes: ninja says it in plain text."""

    @wraps(answer)
    def answered(request: HttpRequest, **values: Any) -> HttpResponse:
        response = answer(request, **values)
        if not isinstance(response, HttpResponseNotAllowed):
            return response
        # Sorted: ninja has them as a set
        allowed = ", ".join(sorted(response.headers["Allow"].split(", ")))
        call = f"{request.method} {request.path:.200}"
        detail = f"There is no call {call}: this address takes {allowed}."
        refusal = api.create_response(request, {"detail": detail}, status=405)
        refusal.headers["Allow"] = allowed
        return refusal

    return answered


def report(request: HttpRequest, error: Exception | type[Exception]) -> HttpResponse:
    status = next(code for kind, code in STATUS.items() if isinstance(error, kind))
    return api.create_response(request, {"detail": str(error)}, status=status)


for kind in STATUS:
    api.add_exception_handler(kind, report)


@api.exception_handler(HttpError)
def report_refusal(request: HttpRequest, error: HttpError) -> HttpResponse:
    """With what StrictParser found in a body: ninja only says that it cannot be parsed."""
    reason = error.__cause__
    detail = f"The body is {reason}" if isinstance(reason, Refused) else str(error)
    status = 413 if isinstance(reason, TooLarge) else error.status_code
    return api.create_response(request, {"detail": detail}, status=status)


@api.exception_handler(ValidationError)
def report_invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """One sentence for each of the first fields, with its path."""
    sentences: list[str] = []
    for entry in error.errors[:REPORTED_ERRORS]:
        path = ".".join(str(step) for step in entry["loc"])
        is_unknown = entry["type"] == unknown_names.FIELD
        sentences.append(entry["msg"] if is_unknown else f"{path:.200}: {entry['msg']:.300}")
    detail = "; ".join(sentences)
    if len(error.errors) > REPORTED_ERRORS:
        detail += f" (and {len(error.errors) - REPORTED_ERRORS} more)"
    return api.create_response(request, {"detail": detail}, status=422)
