"""Writes the read-only pages as static files: what a reader without an account sees, for any host.

1. From the list of all pages on, every page of PAGES that is linked is fetched as Django answers
   it, with the figures and files that it loads. A page with a query is fetched where it is linked
   from one without: filters of filters are not.
2. Then links are rewritten to the files. What is not among them leads to the same page without a
   query, or nowhere.

Templates see `request.META.COPY_NOTE`.
"""

import shutil
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.handlers.base import BaseHandler
from django.test import RequestFactory, override_settings
from django.urls import Resolver404, resolve
from django.utils import timezone

from dashboard.language.errors import ActionNotAllowed
from dashboard.language.moments import stamp
from dashboard.site.core.published_page import (
    address,
    file_of,
    links_of,
    relative,
    rewritten,
    rewritten_figure,
)

MARK = ".compilewatch-published"  # in a folder that `publish` may overwrite
SEEDS = ("/", "/contents/", "/benchmarks/", "/compare/", "/alerts/")
PAGES = {
    "home",
    "benchmarks",
    "series",
    "compare",
    "experiments",
    "comparison",
    "bisection",
    "alerts",
    "alert",
    "alert_tab",
    "glossary",
    "contents",
}
FIGURES = {"series_data", "series_controls", "alert_change"}
FILES = FIGURES | {  # loaded by those pages, or downloaded from them
    "series_export",
    "compare_export",
    "comparison_export",
    "benchmarks_export",
    "alert_report",
    "alert_bisect_script",
}
_LEFT_OUT = (  # middleware: asks to sign in, logs requests
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "dashboard.site.log_context.RequestContext",
)


@dataclass
class Publication:
    """Addresses that were written. failed: those that did not answer 200."""

    folder: Path
    pages: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def publish(*, folder: Path) -> Publication:
    """Write the site's pages into a folder that is empty or was written so before.

    Raises ActionNotAllowed for another one: its files would be deleted.
    """
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / MARK).exists():
            raise ActionNotAllowed(
                f"{folder} has files that were not published: give an empty or a new folder."
            )
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).touch()  # an unfinished one may be overwritten, too
    # What an anonymous reader of a public site sees, also where this one asks people to sign in
    middleware = [name for name in settings.MIDDLEWARE if name not in _LEFT_OUT]
    handler = BaseHandler()
    with override_settings(MIDDLEWARE=middleware):
        handler.load_middleware()
    publication = Publication(folder)
    _fetch_all(publication, handler)
    _rewrite_all(publication)
    (folder / MARK).write_text(f"{settings.SITE_URL} {timezone.now().isoformat()}\n")
    return publication


def _fetch_all(publication: Publication, handler: BaseHandler) -> None:
    waiting = deque(SEEDS)
    seen = set(SEEDS)
    moment = stamp(timezone.now())
    while waiting:
        target = waiting.popleft()
        is_static = target.startswith(settings.STATIC_URL)
        body = _static_file(target) if is_static else _answer(handler, target, moment)
        if body is None:
            publication.failed.append(target)
            continue
        is_file = is_static or _name_of(target) in FILES
        (publication.files if is_file else publication.pages).append(target)
        path = publication.folder / file_of(target)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        for link in links_of(file_of(target), body):
            linked = address(link, target, settings.SITE_URL)
            if linked.startswith(settings.STATIC_URL):
                linked = linked.partition("?")[0]
            if linked not in seen and _is_wanted(linked, target):
                seen.add(linked)
                waiting.append(linked)


def _name_of(page: str) -> str:
    try:
        return resolve(unquote(urlsplit(page).path)).url_name or ""
    except Resolver404:
        return ""


def _is_wanted(target: str, page: str) -> bool:
    name = _name_of(target)
    if target.startswith(settings.STATIC_URL) or name in FILES:
        return True
    return name in PAGES and ("?" not in target or "?" not in page)


def _answer(handler: BaseHandler, page: str, moment: str) -> bytes | None:
    """Django's answer; None unless that is 200.

    Not through django.test.Client: it disconnects signals of the whole process meanwhile, and its
    streamed answers close themselves while they run, which can crash Python 3.11 and 3.12 where
    torch has failed to compile something before. The answer is not closed: that would end the
    request, and with it a transaction that we may be in.
    """
    requests = RequestFactory(headers={"host": urlsplit(settings.SITE_URL).netloc})
    note = f"A copy of {settings.SITE_URL}, published {moment}: it does not change."
    request = requests.get(page, secure=settings.IS_HTTPS, COPY_NOTE=note)
    answer = handler.get_response(request)
    return bytes(answer.getvalue()) if answer.status_code == 200 else None


def _static_file(asset: str) -> bytes | None:
    """As it was collected, else as it lies in the project."""
    name = unquote(asset).removeprefix(settings.STATIC_URL)
    if staticfiles_storage.exists(name):
        with staticfiles_storage.open(name) as file:
            return bytes(file.read())
    path = finders.find(name)
    return Path(path).read_bytes() if path else None


def _rewrite_all(publication: Publication) -> None:
    published = {*publication.pages, *publication.files}
    for target in published:
        is_figure = _name_of(target) in FIGURES and urlsplit(target).path.endswith(".json")
        if target in publication.pages or is_figure:
            path = publication.folder / file_of(target)
            rewrite = rewritten_figure if is_figure else rewritten
            path.write_text(rewrite(path.read_text(), partial(_static_link, target, published)))


def _static_link(page: str, published: Collection[str], link: str) -> str | None:
    """The static link for a link of a page; None where nothing like it is published."""
    target = address(link, page, settings.SITE_URL)
    if not target:
        return link  # of another site, or a place in this page
    place = urlsplit(link).fragment
    if target not in published and _name_of(target) in PAGES:
        # The nearest: the same page, not narrowed down, where that place may be missing
        target, place = target.partition("?")[0], ""
    if target not in published:
        return None
    return relative(file_of(page), file_of(target), place)
