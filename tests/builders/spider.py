"""A spider: it opens every address that a page names, as a browser would, and notes what answered.

Followed are links, frames and pictures, data of charts, forms that only read (with each option of
their choices), what htmx asks for, addresses in JSON, and redirects; of this site alone.
"""

import json
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from unittest.mock import patch
from urllib.parse import parse_qsl, quote, urldefrag, urlencode, urljoin, urlsplit

from django.conf import settings
from django.db import connection, transaction
from django.template import VariableDoesNotExist
from django.test import Client
from django.urls import Resolver404, resolve

ORIGIN = "http://testserver"
API = "/api/v1/openapi.json"
NOT_OFFERED = 501  # Parquet without pyarrow
LONGEST_QUERY = "60s"  # one that hangs fails with its address, not with the file's time
OUTWARD = ("readyz", "discover", "send-a-test")  # pages that ask servers elsewhere
_FOLLOWED = ("href", "src", "hx-get", "data-figure", "data-address", "data-schema")
_NAMES_AN_ADDRESS = re.compile(r"(?:^|_)(?:url|next|previous|address|customdata)$")


@contextmanager
def lacking_attributes() -> Iterator[set[str]]:
    """Note what templates ask of the site's own objects that these do not have: Django renders it
    as nothing, and a sentence is empty.
    """
    lacking: set[str] = set()

    def note(error: VariableDoesNotExist, message: str, parameters: Sequence[Any] = ()) -> None:
        error.msg, error.params = message, tuple(parameters)
        name, holder = (*parameters, None, None)[:2]
        module = type(holder).__module__
        if module.startswith("dashboard.") and ".admin" not in module:  # whose options may lack
            lacking.add(f"{type(holder).__name__}.{name}")

    with patch.object(VariableDoesNotExist, "__init__", note):
        yield lacking


@dataclass(frozen=True, slots=True)
class Link:
    """An address, and the page that named it. is_htmx: its answer becomes a part of that page."""

    address: str
    named_by: str
    is_htmx: bool = False

    @property
    def route(self) -> str:
        try:
            return resolve(urlsplit(self.address).path).route
        except Resolver404:
            return "nothing"

    @property
    def kind(self) -> tuple[str, tuple[str, ...], bool]:
        """The page that it opens, whatever the values in its address."""
        query = parse_qsl(urlsplit(self.address).query, keep_blank_values=True)
        names = {name for name, _ in query} - {"_changelist_filters"}  # the way back, in the admin
        return self.route, tuple(sorted(names)), self.is_htmx


@dataclass(frozen=True, slots=True)
class Visit:
    """Answer from an address. error: of a page that failed."""

    link: Link
    status: int
    content_type: str = ""
    error: str = ""

    def __str__(self) -> str:
        part = ", for htmx" if self.link.is_htmx else ""
        return f"{self.status} {self.link.address}{part} (in {self.link.named_by}) {self.error}"


@dataclass(slots=True)
class Spider:
    """Opens addresses, each once, the nearest to its starts first.

    most_of_a_kind: so many addresses of one view with the same names in the query; and any start.
    lacking: what templates asked of objects that do not have it (`lacking_attributes`).
    A page with a query leads no further to itself: filters combine without end.
    """

    client: Client
    most_of_a_kind: int = 1
    visits: list[Visit] = field(default_factory=list)
    lacking: set[str] = field(default_factory=set)

    @property
    def offenders(self) -> list[str]:
        """The addresses that did not answer: of each kind the first, and how many there are.

        What the API only describes may be missing of a row: samples, an issue.
        """
        counts: Counter[Any] = Counter()
        firsts: dict[Any, Visit] = {}
        for visit in self.visits:
            is_described = visit.link.named_by == API
            is_answered = visit.status < 400 or visit.status == NOT_OFFERED
            if not is_answered and not (is_described and visit.status == 404):
                key = visit.link.kind, visit.status
                counts[key] += 1
                firsts.setdefault(key, visit)
        return [f"{counts[key]} × {visit}" for key, visit in firsts.items()]

    def crawl(self, *starts: str) -> None:
        """Open these addresses, the API's, and all to which they lead."""
        waiting = deque(Link(address, "the start") for address in starts)
        waiting += self._described()
        noted = {(link.address, link.is_htmx) for link in waiting}
        of_kind: Counter[Any] = Counter()
        while waiting:
            for link in self.visit(waiting.popleft()):
                key = link.address, link.is_htmx
                if key not in noted and of_kind[link.kind] < self.most_of_a_kind:
                    noted.add(key)
                    of_kind[link.kind] += 1
                    waiting.append(link)

    def visit(self, link: Link) -> list[Link]:
        """Open an address; what its page names."""
        headers = {"HX-Request": "true"} if link.is_htmx else {}
        try:
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute(f"SET LOCAL statement_timeout = '{LONGEST_QUERY}'")
                answer: Any = self.client.get(link.address, headers=headers)
                content = answer.getvalue()
        except Exception as error:
            self.visits.append(Visit(link, 500, error=f"{type(error).__name__}: {error}"))
            return []
        content_type = answer.headers.get("Content-Type", "").partition(";")[0]
        self.visits.append(Visit(link, answer.status_code, content_type))
        named: Iterable[tuple[str, bool]] = []
        if "Location" in answer.headers:
            named = [(answer.headers["Location"], False)]
        elif content_type == "application/json":
            named = [(address, False) for address in _in_json(json.loads(content))]
        elif content_type.startswith(("text/html", "application/atom")):
            markup = _Markup()
            markup.feed(content.decode())
            named = markup.named
        return [*_links(named, link.address)]

    def _described(self) -> Iterator[Link]:
        """The calls of the API that read, of the first rows of the lists that they belong to."""
        for path, calls in self.client.get(API).json()["paths"].items():
            if "get" not in calls:
                continue
            parameters = calls["get"].get("parameters", [])
            names = [each["name"] for each in parameters if each["required"]]
            collection, _, rest = path.partition("/{")
            ids = self._ids(collection) if rest else [""]
            required = {"q": "a", "base": "2.11.0", "new": "2.13.0"}
            if rest.endswith("/kernels"):
                required["base"] = ids[0]
            query = urlencode({name: required[name] for name in names if name in required})
            for row in ids[: self.most_of_a_kind]:
                address = re.sub(r"\{\w+\}", quote(row), path)
                yield Link(f"{address}?{query}" if query else address, API)

    def _ids(self, collection: str) -> list[str]:
        rows = self.client.get(collection).json()["results"]
        return [str(row.get("id") or row.get("label") or row["name"]) for row in rows]


def _links(named: Iterable[tuple[str, bool]], page: str) -> Iterator[Link]:
    """The links to this site among the addresses of a page."""
    for address, is_htmx in named:
        whole = urldefrag(urljoin(f"{ORIGIN}{page}", address.replace(settings.SITE_URL, ORIGIN)))[0]
        parts = urlsplit(whole)
        if f"{parts.scheme}://{parts.netloc}" != ORIGIN or parts.path.startswith("/static/"):
            continue
        is_filtered_again = "?" in page and parts.path == urlsplit(page).path
        if not is_filtered_again and not any(name in parts.path for name in OUTWARD):
            yield Link(whole.removeprefix(ORIGIN), page, is_htmx)


def _in_json(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _in_json(part, key)
    elif isinstance(value, list):
        for part in value:
            yield from _in_json(part, name)
    elif isinstance(value, str) and value.startswith(("/", "http")):
        yield from [value] if _NAMES_AN_ADDRESS.search(name) else []


class _Markup(HTMLParser):
    """Collects the addresses of a page: (address, whether htmx asks for it)."""

    def __init__(self) -> None:
        super().__init__()
        self.named: list[tuple[str, bool]] = []
        self._form: _Form | None = None

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "form":
            reads = attributes.get("method", "get").lower() == "get"
            self._form = _Form(attributes) if reads else None
            return
        if self._form:
            self._form.add(tag, attributes)
        for name in _FOLLOWED:
            if attributes.get(name):
                self.named.append((attributes[name], name == "hx-get"))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form" and self._form:
            self.named += self._form.submissions()
            self._form = None


class _Form:
    """A form that reads, as it is sent when nothing, or one choice, was changed."""

    def __init__(self, attributes: Mapping[str, str]) -> None:
        self.address = attributes.get("hx-get") or attributes.get("action", "")
        self.is_htmx = "hx-get" in attributes
        self.fields: dict[str, str] = {}
        self.choices: list[tuple[str, str]] = []
        self._select = ""

    def add(self, tag: str, attributes: Mapping[str, str]) -> None:
        name, value = attributes.get("name", ""), attributes.get("value", "")
        if tag == "select":
            self._select = name
        elif tag == "option" and self._select:
            self.choices.append((self._select, value))
            if "selected" in attributes or self._select not in self.fields:
                self.fields[self._select] = value
        elif tag == "input" and name and attributes.get("type") in ("checkbox", "radio"):
            self.choices.append((name, value or "on"))
            if "checked" in attributes:
                self.fields[name] = value or "on"
        elif tag == "input" and name:
            self.fields[name] = value

    def submissions(self) -> Iterator[tuple[str, bool]]:
        path = self.address.partition("?")[0]
        for choice in ({}, *({name: value} for name, value in self.choices)):
            yield f"{path}?{urlencode(self.fields | choice)}", self.is_htmx
