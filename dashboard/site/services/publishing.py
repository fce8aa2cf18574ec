"""Writes the read-only pages as static files: what a reader without an account sees, for any host.

1. From the list of all pages on, every page of PAGES that is linked is fetched as Django answers
   it, with the figures and files that it loads. A page with a query is fetched where it is linked
   from one without: filters of filters are not.
2. Then links are rewritten to the files. What is not among them leads to the same page without a
   query, or becomes text.
"""

import json
import shutil
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.handlers.base import BaseHandler
from django.core.handlers.wsgi import WSGIRequest
from django.templatetags.static import static
from django.test import RequestFactory, override_settings
from django.urls import Resolver404, resolve
from django.utils import timezone
from django.utils.html import escape

from dashboard.language.errors import ActionNotAllowed
from dashboard.language.moments import stamp
from dashboard.site.core.published_page import (
    CopyLinks,
    address,
    assets_of,
    file_of,
    links_of,
    relative,
    rewritten,
    rewritten_figure,
)
from dashboard.site.selectors.contents import page_lists

MARK = ".compilewatch-published"  # in a folder that `publish` may overwrite
CONTENTS = "/contents/"
INDEX = "search.json"  # titles and files of all listed pages
SCRIPT = "compilewatch/published.js"
SEEDS = ("/", CONTENTS, "/benchmarks/", "/versions/", "/compare/", "/alerts/")
PAGES = frozenset(
    (
        "overview",
        "benchmarks",
        "series",
        "versions",
        "compare",
        "comparisons",
        "comparison",
        "bisection",
        "alerts",
        "alert",
        "alert_code",
        "alert_issue",
        "glossary",
        "contents",
    )
)
FILES = frozenset(  # loaded by those pages, or downloaded from them
    (
        "series_data",
        "series_controls",
        "series_export",
        "versions_data",
        "versions_export",
        "compare_export",
        "comparison_export",
        "benchmarks_export",
        "alert_change",
        "alert_pairs",
        "alert_report",
        "alert_bisect_script",
    )
)
_LEFT_OUT = frozenset(  # middleware: asks to sign in, logs requests
    (
        "django.contrib.auth.middleware.LoginRequiredMiddleware",
        "dashboard.site.log_context.RequestContext",
    )
)
_OK = 200


@dataclass
class Publication:
    """What was written. failed: pages that did not answer 200, which nothing leads to."""

    folder: Path
    pages: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    assets: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    @property
    def size_bytes(self) -> int:
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())


def publish(*, folder: Path) -> Publication:
    """Write the site's pages into a folder that is empty or was written so before.

    Raises ActionNotAllowed for another one: its files would be deleted.
    """
    _empty(folder)
    publication = Publication(folder)
    # What an anonymous reader of a public site sees, also where this one asks people to sign in
    middleware = [name for name in settings.MIDDLEWARE if name not in _LEFT_OUT]
    handler = BaseHandler()
    with override_settings(MIDDLEWARE=middleware):
        handler.load_middleware()
    _fetch_all(publication, handler)
    _rewrite_all(publication)
    (folder / MARK).write_text(f"{settings.SITE_URL} {timezone.now().isoformat()}\n")
    return publication


def _empty(folder: Path) -> None:
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / MARK).exists():
            raise ActionNotAllowed(
                f"{folder} has files that were not published: give an empty or a new folder."
            )
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).touch()  # an unfinished one may be overwritten, too


def _name_of(page: str) -> str:
    try:
        return resolve(unquote(urlsplit(page).path)).url_name or ""
    except Resolver404:
        return ""


def _fetch_all(publication: Publication, handler: BaseHandler) -> None:
    site = settings.SITE_URL
    requests = RequestFactory(headers={"host": urlsplit(site).netloc})
    waiting = deque(SEEDS)
    seen = set(SEEDS)
    assets = {static(SCRIPT)}
    while waiting:
        page = waiting.popleft()
        body = _body(handler, requests.get(page, secure=settings.IS_HTTPS))
        if body is None:
            publication.failed.append(page)
            continue
        _write(publication.folder, file_of(page), body)
        if _name_of(page) in FILES:
            publication.files.append(page)
            continue
        publication.pages.append(page)
        for link in links_of(body.decode()):
            target = address(link, page, site)
            if target.startswith(settings.STATIC_URL):
                assets.add(target)
            elif target and target not in seen and _is_wanted(target, page):
                seen.add(target)
                waiting.append(target)
    _copy_assets(publication, assets)


def _is_wanted(target: str, page: str) -> bool:
    name = _name_of(target)
    if name in FILES:
        return True
    return name in PAGES and ("?" not in target or "?" not in page)


def _body(handler: BaseHandler, request: WSGIRequest) -> bytes | None:
    """What Django answers; None unless that is 200.

    Not through django.test.Client: it disconnects signals of the whole process meanwhile, and its
    streamed answers close themselves while they run, which can crash Python 3.11 and 3.12 where
    torch has failed to compile something before. The answer is not closed: that would end the
    request, and with it a transaction that we may be in.
    """
    answer = handler.get_response(request)
    if answer.status_code != _OK:
        return None
    content: bytes = answer.getvalue()
    return content


def _write(folder: Path, name: str, body: bytes) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)


def _copy_assets(publication: Publication, first: Iterable[str]) -> None:
    """Static files, and what those load."""
    waiting = deque(sorted(first))
    seen = set(waiting)
    while waiting:
        asset = waiting.popleft()
        body = _static_file(unquote(asset).removeprefix(settings.STATIC_URL))
        if body is None:
            publication.failed.append(asset)
            continue
        _write(publication.folder, file_of(asset), body)
        publication.assets.append(asset)
        if asset.endswith((".css", ".js")):
            for link in assets_of(body.decode(errors="replace")):
                target = address(link, asset, settings.SITE_URL).partition("?")[0]
                if target.startswith(settings.STATIC_URL) and target not in seen:
                    seen.add(target)
                    waiting.append(target)


def _static_file(name: str) -> bytes | None:
    """As it was collected, else as it lies in the project."""
    if staticfiles_storage.exists(name):
        with staticfiles_storage.open(name) as file:
            return bytes(file.read())
    path = finders.find(name)
    return Path(path).read_bytes() if path else None


def _rewrite_all(publication: Publication) -> None:
    published = {*publication.pages, *publication.files, *publication.assets}
    moment = stamp(timezone.now())
    note = f"A copy of {escape(settings.SITE_URL)}, published {moment}: it does not change."
    for page in publication.pages:
        path = publication.folder / file_of(page)
        file = file_of(page)
        copy = CopyLinks(
            note=note,
            contents=relative(file, file_of(CONTENTS)),
            index=relative(file, INDEX),
            script=relative(file, file_of(static(SCRIPT))),
        )
        path.write_text(rewritten(path.read_text(), _Links(page, published), copy))
    _write_index(publication.folder, published)
    for file in publication.files:
        if urlsplit(file).path.endswith(".json") and _name_of(file).endswith(_FIGURES):
            path = publication.folder / file_of(file)
            path.write_text(rewritten_figure(path.read_text(), _Links(file, published)))


def _write_index(folder: Path, published: set[str]) -> None:
    """What the search box looks through."""
    entries = []
    for pages in page_lists():
        for link in pages.links:
            target = address(link.url, "/", settings.SITE_URL)
            if target in published:
                entries.append({"title": link.title, "url": relative(INDEX, file_of(target))})
    (folder / INDEX).write_text(json.dumps(entries, ensure_ascii=False))


_FIGURES = ("_data", "_controls", "_change", "_pairs")


@dataclass(frozen=True, slots=True)
class _Links:
    """The static link for a link of a page; None where nothing like it is published."""

    page: str
    published: set[str]

    def __call__(self, link: str) -> str | None:
        target = address(link, self.page, settings.SITE_URL)
        if not target:
            return link  # of another site, or a place in this page
        place = urlsplit(link).fragment
        if target not in self.published and _name_of(target) in PAGES:
            # The nearest: the same page, not narrowed down, where that place may be missing
            target, place = target.partition("?")[0], ""
        if target not in self.published:
            return None
        return relative(file_of(self.page), file_of(target), place)
