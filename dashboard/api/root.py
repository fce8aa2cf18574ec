"""The API under /api/v1/, described in openapi.json. Every error is {"detail": "what, where, what to do"}."""

from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern
from ninja import NinjaAPI
from ninja.errors import ValidationError
from ninja.parser import Parser

from dashboard.api.worker import router
from dashboard.result_format import Refused, TooLarge, parse_json
from dashboard.services.fleet import CatalogError
from dashboard.services.leases import Stale


class StrictParser(Parser):
    """JSON without NaN and Infinity, and without the NULs that Postgres cannot store. Raises Refused."""

    def parse_body(self, request: HttpRequest) -> Any:
        return parse_json(request.body)


WORKERS = "worker/"
api = NinjaAPI(title="Compilewatch", version="1", urls_namespace="api", parser=StrictParser(), docs_url=None)
api.add_router(WORKERS, router)
STATUS: dict[type[Exception], int] = {Stale: 409, TooLarge: 413, Refused: 422, CatalogError: 422}


def api_urls() -> Any:
    """What `path()` mounts. Tokens, not sessions, protect the workers' addresses, which need no sign-in."""
    patterns, app_name, namespace = api.urls
    for pattern in patterns:
        if isinstance(pattern, URLPattern) and str(pattern.pattern).startswith(WORKERS):
            pattern.callback = login_not_required(pattern.callback)
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
