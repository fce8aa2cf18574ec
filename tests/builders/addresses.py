"""Every address of the site, as its URL resolver knows them, each with an example."""

import re
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.converters import UUIDConverter
from ninja.constants import NOT_SET

from dashboard.site.api.root import api

API_PAGES = ("api:openapi-json", "api:openapi-view", "api:api-root")
MISSING_UUID = str(UUID(int=0))  # no row has it
_EXAMPLES = (  # part of a pattern -> an example of it; in the order to replace them in
    (rf"\(\?P<\w+>{re.escape(UUIDConverter.regex)}\)", MISSING_UUID),
    (r"\(\?P<\w+>\[\^/\]\+\)", "999999"),
    (r"\(\?P<\w+>(\w+)(?:\|\w+)*\)", r"\1"),
    (r"\(\?P<\w+>\.\*\)", "999999"),
    (r"\{(?:int:)\w+\}", "999999"),
    (r"\{uuid\w*:\w+\}", MISSING_UUID),
    (r"\{\w+\}", "999999"),
    (r"<int:\w+>", "999999"),
    (r"<uuid\w*:\w+>", MISSING_UUID),
    (r"<(?:\w+:)?\w+>", "999999"),
    (r"\\([./-])", r"\1"),
    (r"[\^$]", ""),
)


def addresses() -> dict[str, str]:
    """An address for each name, with its namespaces. Names of API operations are not unique."""
    routes = {}
    for name, route in _walk(get_resolver().url_patterns, "", ""):
        if not name.startswith("api:") or name in API_PAGES:
            routes[name] = f"/{_example(route)}"
    return routes


def operations() -> dict[tuple[str, str], Any]:
    """(method, address) of each operation of the API -> its authentication (ninja's `auth`)."""
    access: dict[tuple[str, str], Any] = {}
    for prefix, router in api._routers:
        for path, view in router.path_operations.items():
            address = f"/api/v1/{_example(f'{prefix}{path}')}"
            for operation in view.operations:
                auth = operation.auth_param
                if auth is NOT_SET:
                    auth = router.auth
                for method in operation.methods:
                    access[method, address] = auth
    return access


def _example(route: str) -> str:
    for part, example in _EXAMPLES:
        route = re.sub(part, example, route)
    return route


def _walk(
    patterns: Iterable[URLPattern | URLResolver], parent_route: str, parent_name: str
) -> Iterator[tuple[str, str]]:
    for pattern in patterns:
        route = f"{parent_route}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            namespace = f"{pattern.namespace}:" if pattern.namespace else ""
            yield from _walk(pattern.url_patterns, route, f"{parent_name}{namespace}")
        elif pattern.name:  # the admin's few without one only redirect
            yield f"{parent_name}{pattern.name}", route
