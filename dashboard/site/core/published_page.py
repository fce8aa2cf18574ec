"""A page of the site as a static file: where it lies, where it leads, its HTML. Pure."""

import hashlib
import html
import json
import posixpath
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urljoin, urlsplit

NO_JOB = "00000000-0000-0000-0000-000000000000"  # what charts put a job's id, or an address, for
_LINKS = ("href", "src", "data-figure")
# Elements that have no end
_VOID = frozenset(("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta"))
_VOID |= {"source", "track", "wbr"}
_BARS = ("nav", "footer")
_CONTROLS = frozenset(("input", "select", "textarea", "button"))
_CSS_URL = re.compile(r"url\(\s*['\"]?([^'\")]+)['\"]?\s*\)")
_JS_IMPORT = re.compile(r"(?:\bfrom|\bimport)\s*\(?\s*[\"'](\.{1,2}/[^\"']+|/[^\"']+)[\"']")

Attributes = list[tuple[str, str | None]]
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


def links_of(page_html: str) -> list[str]:
    """Every address that a page leads to or loads."""
    reader = _Reader()
    reader.feed(page_html)
    return reader.links


def assets_of(text: str) -> list[str]:
    """What a style sheet or a script loads."""
    return [*_CSS_URL.findall(text), *_JS_IMPORT.findall(text)]


@dataclass(frozen=True, slots=True)
class CopyLinks:
    """What every page of the copy has. note: what it is; the rest: links from the page."""

    note: str
    contents: str
    index: str
    script: str


def rewritten(page_html: str, resolve: Resolve, copy: CopyLinks) -> str:
    """The page without what needs a server: forms, menus of people, parts that ask again."""
    writer = _Writer(resolve, copy)
    writer.feed(page_html)
    writer.close()
    return "".join(writer.parts)


def rewritten_figure(body: str, resolve: Resolve) -> str:
    """A chart's figure whose marks lead to published pages, and whose points lead nowhere."""
    figure = json.loads(body)
    if isinstance(figure, dict):
        for trace in figure.get("data", ()):
            if isinstance(trace.get("customdata"), list):
                trace["customdata"] = [_lead(value, resolve) for value in trace["customdata"]]
    return json.dumps(figure, ensure_ascii=False)


def _lead(value: Any, resolve: Resolve) -> str | None:
    if isinstance(value, str) and value.startswith("/"):
        return resolve(value)
    return None


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        for name, value in attrs:
            if name in _LINKS and value:
                self.links.append(value)


class _Writer(HTMLParser):
    """Writes every part as it was, but for the elements that a static page cannot have."""

    def __init__(self, resolve: Resolve, copy: CopyLinks) -> None:
        super().__init__(convert_charrefs=False)
        self.parts: list[str] = []
        self._resolve = resolve
        self._copy_links = copy
        self._dropped: list[str] = []  # open elements of what is left out
        self._renamed: list[tuple[str, str]] = []  # (tag, as what it was written), open
        self._bars = 0  # open ones of nav and footer
        # What is written before the first such end
        self._before_end = {
            "head": f'<script type="module" src="{copy.script}"></script>',
            "nav": f'<a href="{copy.contents}">All pages</a>',
        }

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        if self._dropped:
            if tag not in _VOID:
                self._dropped.append(tag)
            return
        kept = dict(attrs)
        classes = (kept.get("class") or "").split()
        if self._is_left_out(tag, kept, classes):
            if tag not in _VOID:
                self._dropped.append(tag)
            return
        if tag in _BARS:
            self._bars += 1
        if tag == "footer":
            self._before_end["div"] = f"<span>{self._copy_links.note}</span>"
        written = self._changed(kept)
        name = tag
        if tag == "form" and "search" in classes:
            written |= {"action": self._copy_links.contents, "data-index": self._copy_links.index}
        elif tag == "form" or (tag == "a" and "href" in kept and "href" not in written):
            name = "div" if tag == "form" else "span"
            for attribute in ("href", "action", "method", "download", "target", "rel"):
                written.pop(attribute, None)
        if tag in ("a", "form"):
            self._renamed.append((tag, name))
        self.parts.append(_tag(name, written))

    def _is_left_out(self, tag: str, attrs: dict[str, str | None], classes: Sequence[str]) -> bool:
        if tag == "form" and "filters" in classes:
            return True
        if (tag == "details" and "menu" in classes) or "data-live" in attrs:
            return True
        if tag in _CONTROLS:
            works = "data-copy" in attrs or "data-theme-toggle" in attrs
            works = works or "icon-button" in classes or attrs.get("type") == "search"
            return not works
        if tag == "meta":
            return attrs.get("property") == "og:url" or attrs.get("name") == "htmx-config"
        href = attrs.get("src") if tag == "script" else attrs.get("href")
        if tag in ("link", "script", "a") and href and self._resolve(href) is None:
            # A button or an entry of the head would look as if it did something
            return tag != "a" or self._bars > 0 or "button" in classes or "sign-in" in classes
        return False

    def _changed(self, attrs: dict[str, str | None]) -> dict[str, str | None]:
        written: dict[str, str | None] = {}
        for name, value in attrs.items():
            if name.startswith("hx-") or name in ("data-time", "data-submits"):
                continue
            static = value
            if name == "data-job":
                static = NO_JOB
            elif name in _LINKS and value:
                static = self._resolve(value)
                if static is None:
                    continue
            written[name] = static
        return written

    def handle_startendtag(self, tag: str, attrs: Attributes) -> None:
        if not self._dropped:
            self.parts.append(self.get_starttag_text() or "")

    def handle_endtag(self, tag: str) -> None:
        if self._dropped:
            if tag in self._dropped:
                while self._dropped.pop() != tag:
                    pass
            return
        if tag in _BARS:
            self._bars -= 1
        self.parts.append(self._before_end.pop(tag, ""))
        name = tag
        if self._renamed and self._renamed[-1][0] == tag:
            name = self._renamed.pop()[1]
        self.parts.append(f"</{name}>")

    def _copy(self, text: str) -> None:
        if not self._dropped:
            self.parts.append(text)

    def handle_data(self, data: str) -> None:
        self._copy(data)

    def handle_entityref(self, name: str) -> None:
        self._copy(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._copy(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        self._copy(f"<!{decl}>")


def _tag(name: str, attrs: dict[str, str | None]) -> str:
    words = [name]
    for attribute, value in attrs.items():
        words.append(attribute if value is None else f'{attribute}="{html.escape(value)}"')
    return f"<{' '.join(words)}>"
