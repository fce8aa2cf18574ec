"""A page of the site as a static file: where it lies, where it leads, its HTML. Pure.

The expressions read what the site's templates write: quoted attributes, no "<" in text or values.
"""

import hashlib
import html
import json
import posixpath
import re
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urljoin, urlsplit

NO_JOB = "00000000-0000-0000-0000-000000000000"  # what charts put a job's id, or an address, for
_LEADS = frozenset(("href", "src", "action", "data-figure"))
_ASKS = ("hx-", "method", "data-time")  # beginnings of attributes by which a page asks the server
_ATTRIBUTE = re.compile(r'\s+([\w:.-]+)(?:="([^"]*)")?')
_TAG = re.compile(r'<([a-z][\w-]*)((?:\s+[\w:.-]+(?:="[^"]*")?)*)\s*>')
_CONTROL = re.compile(
    r'<form\b[^>]*class="filters.*?</form>|<select\b.*?</select>|<textarea\b.*?</textarea>'
    r"|<button\b(?![^>]*(?:data-copy|data-theme-toggle|icon-button)).*?</button>"
    r'|<input\b(?![^>]*type="search")[^>]*>',
    re.DOTALL,
)
_LOADED = {  # by suffix: what a file loads or leads to
    ".html": re.compile(r'\s(?:href|src|data-figure)="([^"]*)"'),
    ".css": re.compile(r"url\(\s*['\"]?([^'\")]+)['\"]?\s*\)"),
    ".js": re.compile(r"(?:\bfrom|\bimport)\s*\(?\s*[\"'](\.{1,2}/[^\"']+|/[^\"']+)[\"']"),
}

Resolve = Callable[[str], str | None]  # an absolute address -> its static one; None: not published


def address(link: str, page: str, site: str) -> str:
    """The path and query of a link on a page, if it leads into the site; else empty."""
    parts = urlsplit(urljoin(f"{site}{page}", link.strip()))
    if f"{parts.scheme}://{parts.netloc}" != site or link.startswith("#"):
        return ""
    query = urlencode(sorted(parse_qsl(parts.query, keep_blank_values=True)))
    return f"{parts.path}?{query}" if query else parts.path


def file_of(page: str) -> str:
    """The file that a page of this path and query lies in, below the folder."""
    path, _, query = page.partition("?")
    name = unquote(path).lstrip("/")
    if not name or name.endswith("/"):
        name += "index.html"
    if not query:
        return name
    stem, suffix = posixpath.splitext(name)
    return f"{stem}-{hashlib.sha256(query.encode()).hexdigest()[:12]}{suffix}"


def relative(from_file: str, to_file: str, fragment: str = "") -> str:
    """The link from one file to another one."""
    path = quote(posixpath.relpath(to_file, posixpath.dirname(from_file) or "."))
    return f"{path}#{fragment}" if fragment else path


def links_of(file: str, body: bytes) -> list[str]:
    """Every address that a page, style sheet or script leads to or loads."""
    pattern = _LOADED.get(posixpath.splitext(file)[1])
    if pattern is None:
        return []
    return [html.unescape(link) for link in pattern.findall(body.decode(errors="replace"))]


def rewritten(page_html: str, resolve: Resolve) -> str:
    """The page without what asks the server; its links lead to files, or nowhere."""
    return _TAG.sub(partial(_rewritten_tag, resolve), _CONTROL.sub("", page_html))


def _rewritten_tag(resolve: Resolve, tag: re.Match[str]) -> str:
    attributes = []
    for attribute in _ATTRIBUTE.finditer(tag[2]):
        name, value = attribute[1], html.unescape(attribute[2] or "")
        if name in _LEADS and value:
            if (static := resolve(value)) is not None:
                attributes.append(f' {name}="{html.escape(static)}"')
        elif name == "data-job":
            attributes.append(f' data-job="{NO_JOB}"')
        elif not name.startswith(_ASKS):
            attributes.append(attribute[0])
    return f"<{tag[1]}{''.join(attributes)}>"


def rewritten_figure(body: str, resolve: Resolve) -> str:
    """A chart's figure whose marks lead to published pages, and whose points lead nowhere."""
    figure = json.loads(body)

    def lead(value: Any) -> str | None:
        return resolve(value) if isinstance(value, str) and value.startswith("/") else None

    for trace in figure.get("data", ()) if isinstance(figure, dict) else ():
        if isinstance(trace.get("customdata"), list):
            trace["customdata"] = [lead(value) for value in trace["customdata"]]
    return json.dumps(figure, ensure_ascii=False)
