"""Requests that nobody means well: every page and form of the site, with odd values for what it
reads.
"""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any
from urllib.parse import quote, urlencode

from django.contrib.admin import site as admin_site
from django.db.models import Model
from django.urls import URLPattern, URLResolver, get_resolver

VALUES = (
    *("", "0", "1", "-1", "2147483648", "9" * 19, "9" * 5000, "1e308", "nan", "inf", "1.5", "²"),
    *("\x00", "a\x00b", "a" * 300, "a" * 3000, "é\U0001f600\u202e", "<b>'\"", "%", "%s {0}", "\\"),
    *("9999-12-31T23:59:59-12:00", "9999-12-31", "0001-01-01T00:00+23:59", "0001-01-01"),
    *("2026-02-30", "2026-11-23T25:00", "2026-11-23", "24:00", "٣", "_", "-" * 36, "0" * 36),
    *("{}", "[]", "[1]", "null", "true", "//evil.example", "https://[", "=1+1", "a,b", "1,2", "on"),
)
LOOKUPS = ("", "__exact", "__gte", "__lt", "__in", "__isnull", "__icontains", "__year", "__range")
ADMIN_NAMES = ("q", "o", "p", "e", "all", "_popup", "_to_field", "_changelist_filters", "action")
SHARED_NAMES = ("machine", "track", "page", "metric", "benchmark", "config", "next", "back")
# They ask servers elsewhere, or wait for one that is not there
OUTWARD = ("readyz", "dashboard_torchbuild_discover", "dashboard_channel_send_a_test")
READ_NAMES = re.compile(
    r"(?:GET|POST|form)(?:\.get|\.getlist)?[([]\s*\"(\w+)\"|one_of\(request, \"(\w+)\""
)
PART = re.compile(r"<(?:(\w+):)?(\w+)>|\(\?P<(\w+)>((?:[^()]|\([^()]*\))*)\)")


@dataclass(frozen=True, slots=True)
class Page:
    """An address of the site. names: of the parameters that its view reads."""

    name: str
    route: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HostileRequest:
    method: str
    address: str
    form: Mapping[str, Any]


def pages() -> list[Page]:
    """Every page and form; the API has a fuzzer of its own."""
    walked = _walk(get_resolver().url_patterns, "")
    return [page for page in walked if not page.route.startswith("api/")]


def request_to(page: Page, real: Mapping[str, list[str]], random: Random) -> HostileRequest:
    """A request to the page with a few odd values. real: values that lead to rows, by name."""

    def part(match: re.Match[str]) -> str:
        name = str(match[2] or match[3])
        choices: list[str] = str(match[4] or "").split("|")
        if len(choices) > 1:
            return random.choice(choices)
        if name in real and random.random() < 0.8:
            return random.choice(real[name])
        return quote(random.choice(VALUES), safe="")

    address: str = "/" + re.sub(r"\\([./-])|[\^$]", r"\1", PART.sub(part, page.route))
    fields = {}
    for name in random.sample(page.names, min(len(page.names), random.randrange(5))):
        pool = real.get(name, ()) if random.random() < 0.3 else ()
        fields[name] = random.choice([*pool] or VALUES)
    if random.random() < 0.3:
        return HostileRequest("POST", address, fields)
    return HostileRequest("GET", f"{address}?{urlencode(fields)}", {})


def _walk(patterns: list[Any], parent_route: str) -> Iterator[Page]:
    for pattern in patterns:
        route = f"{parent_route}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern) and pattern.name not in OUTWARD:
            yield Page(str(pattern.name), route, _names(pattern))


def _names(pattern: URLPattern) -> tuple[str, ...]:
    view = getattr(pattern.callback, "view_class", pattern.callback)
    module = inspect.getmodule(inspect.unwrap(view))
    names = {*SHARED_NAMES}
    if module is not None:
        for match in READ_NAMES.finditer(inspect.getsource(module)):
            names.add(match[1] or match[2])
    model = _model_of(str(pattern.name))
    if model is not None:
        names.update(ADMIN_NAMES)
        for field in model._meta.fields:
            names.update(f"{field.name}{lookup}" for lookup in LOOKUPS)
            names.update((f"{field.name}_0", f"{field.name}_1"))
    return tuple(sorted(names))


def _model_of(name: str) -> type[Model] | None:
    """The model of an address of the admin: dashboard_run_changelist."""
    for model in admin_site._registry:
        if name.startswith(model._meta.label_lower.replace(".", "_") + "_"):
            return model
    return None
