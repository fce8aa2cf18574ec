"""Every address of the site, as its URL resolver knows them, each with an example."""

import re
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from django.urls import URLPattern, URLResolver, get_resolver
from ninja.constants import NOT_SET

from dashboard.site.api.root import api

API_PAGES = ("api:openapi-json", "api:openapi-view", "api:api-root")
NOBODYS = str(UUID(int=0))  # there is no such row
_EXAMPLES = (  # part of a pattern -> what stands for it; the first that fits
    (r"\(\?P<\w+>\[0-9a-f-\]\{36\}\)", NOBODYS),
    (r"\(\?P<\w+>\[\^/\]\+\)", "999999"),
    (r"\(\?P<\w+>(\w+)(?:\|\w+)*\)", r"\1"),
    (r"\(\?P<\w+>\.\*\)", "999999"),
    (r"\{(?:int:)\w+\}", "999999"),
    (r"\{uuid\w*:\w+\}", NOBODYS),
    (r"\{\w+\}", "999999"),
    (r"<int:\w+>", "999999"),
    (r"<uuid\w*:\w+>", NOBODYS),
    (r"<(?:\w+:)?\w+>", "999999"),
    (r"\\([./-])", r"\1"),
    (r"[\^$]", ""),
)


def addresses() -> dict[str, str]:
    """Name, with its namespaces, -> an address that it leads to. Of the API's operations, below,
    names repeat.
    """
    return {
        name: f"/{_example(route)}"
        for name, route in _walk(get_resolver().url_patterns, "", "")
        if not name.startswith("api:") or name in API_PAGES
    }


def operations() -> dict[tuple[str, str], Any]:
    """(method, address) of each operation of the API -> who it asks for: what ninja calls its
    auth.
    """
    found: dict[tuple[str, str], Any] = {}
    for prefix, router in api._routers:
        for path, view in router.path_operations.items():
            address = _example(f"{prefix}{path}")
            for one in view.operations:
                access = router.auth if one.auth_param is NOT_SET else one.auth_param
                found |= {(method, f"/api/v1/{address}"): access for method in one.methods}
    return found


def _example(route: str) -> str:
    for part, example in _EXAMPLES:
        route = re.sub(part, example, route)
    return route


def _walk(
    patterns: Iterable[URLPattern | URLResolver], route: str, names: str
) -> Iterator[tuple[str, str]]:
    for pattern in patterns:
        whole = f"{route}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            yield from _walk(
                pattern.url_patterns,
                whole,
                f"{names}{pattern.namespace}:" if pattern.namespace else names,
            )
        elif pattern.name:  # the admin's few without one only lead elsewhere
            yield f"{names}{pattern.name}", whole
