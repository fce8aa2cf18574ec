"""Find links of a static copy that lead nowhere: tests/end_to_end/published_links.py FOLDER.

Reads what `manage.py publish` wrote as a browser would: from the first page on every page, style
sheet, script and figure; and looks for the place in a page that a link
names. Prints how many that were and which are dead; 1 where one is.
"""

import posixpath
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

LINKS = ("href", "src", "action", "data-figure")
CSS_URL = re.compile(r"url\(\s*['\"]?([^'\")]+)['\"]?\s*\)")
JS_IMPORT = re.compile(r"(?:\bfrom|\bimport)\s*\(?\s*[\"'](\.{1,2}/[^\"']+)[\"']")


class PageReader(HTMLParser):
    """The links of a page, and the places in it that a link may name."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and name in LINKS:
                self.links.append(value)
            if value and name == "id":
                self.places.add(value)


@dataclass
class Copy:
    """places: of each page. links: (from, to, place). dead: what is linked and not there."""

    folder: Path
    places: dict[str, set[str]] = field(default_factory=dict)
    links: list[tuple[str, str, str]] = field(default_factory=list)
    dead: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)

    def crawl(self) -> None:
        waiting = ["index.html"]
        while waiting:
            name = waiting.pop()
            if name in self.read or name in self.dead:
                continue
            if not (self.folder / name).is_file():
                self.dead.add(name)
                continue
            self.read.add(name)
            for link in self._links_of(name):
                target, place = resolved(name, link)
                if target:
                    self.links.append((name, target, place))
                    waiting.append(target)

    def _links_of(self, name: str) -> Iterator[str]:
        file = self.folder / name
        if file.suffix == ".html":
            page = PageReader()
            page.feed(file.read_text())
            self.places[name] = page.places
            yield from page.links
        elif file.suffix == ".css":
            yield from CSS_URL.findall(file.read_text())
        elif file.suffix == ".js":
            yield from JS_IMPORT.findall(file.read_text())

    def places_that_are_not_there(self) -> set[tuple[str, str]]:
        """(page, place) of every link into a page."""
        named = {(target, place) for _, target, place in self.links if place}
        return {(page, place) for page, place in named if place not in self.places.get(page, ())}


def resolved(page: str, link: str) -> tuple[str, str]:
    """The file below the folder and the place in it; no file for what leads elsewhere."""
    address, place = urldefrag(link)
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return "", ""
    path = unquote(parts.path)
    target = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
    return target, unquote(place)


def main() -> int:
    copy = Copy(Path(sys.argv[1]))
    copy.crawl()
    into_pages = {(target, place) for _, target, place in copy.links if place}
    absent = copy.places_that_are_not_there()
    print(
        f"{len(copy.read):,} addresses, {len(copy.places):,} of them pages: {len(copy.dead)} dead"
    )
    print(f"{len(into_pages):,} places in pages are linked: {len(absent)} dead")
    for name in sorted(copy.dead):
        print(f"nothing is at {name}")
    for page, place in sorted(absent):
        print(f"{page} has no #{place}")
    return 1 if copy.dead or absent else 0


if __name__ == "__main__":
    sys.exit(main())
