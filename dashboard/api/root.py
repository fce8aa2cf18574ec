"""The API under /api/v1/, its documentation included. Every error is {"detail": "what, where, what to do"}."""

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


api = NinjaAPI(title="Compilewatch", version="1", urls_namespace="api", parser=StrictParser())
api.add_router("worker/", router)
STATUS = {Stale: 409, TooLarge: 413, Refused: 422, CatalogError: 422}


def api_urls() -> Any:
    """What `path()` mounts. Tokens, not sessions, protect these addresses: the login middleware lets them pass."""
    patterns, app_name, namespace = api.urls
    for pattern in patterns:
        if isinstance(pattern, URLPattern):
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
