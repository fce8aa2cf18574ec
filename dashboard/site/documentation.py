"""The pages of docs/ and docs/findings/: their order, HTML, and the search over them. Pure."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.token import Token

FOLDER = Path(__file__).resolve().parents[2] / "docs"
# A page that is not named here stands at the end of the how-tos.
SECTIONS: dict[str, tuple[str, ...]] = {
    "Start": ("tutorial",),
    "How to": (
        "own-models",
        "import",
        "export",
        "command-line",
        "gate",
        "agents",
        "alerts",
        "builds",
        "offline",
        "batch-systems",
        "operations",
        "add-a-model",
        "add-a-config",
        "add-a-metric",
    ),
    "Reference": (
        "reference-metrics",
        "reference-models",
        "reference-configs",
        "reference-commands",
        "api",
        "reading-order",
        "architecture",
        "results",
    ),
    "Explanation": ("measuring", "detection", "trends", "versions", "advisor", "differences"),
    "Found in PyTorch": (
        "wrong-gradients",
        "attention-dropout",
        "attention-mask",
        "math-precision",
        "dynamic-backward-stride",
        "int8-decode",
        "loop-reindexing",
        "reduction-layout",
        "launch-choice",
        "cublas-workspace",
        "module-guards",
        "vector-probe",
        "evaluator-left",
    ),
}
OTHERS = "How to"
_NAMED = tuple(chain.from_iterable(SECTIONS.values()))
ELSEWHERE = {"reference-words": "/glossary/"}  # files whose text another page of the site shows
SNIPPET_CHARACTERS = 160
SUMMARY_CHARACTERS = 200  # as many sentences as fit, but one at least
_SENTENCE = re.compile(r"\S.*?[.?!][\"\u201d\u2019)]*(?=\s|$)")
MOST_HITS = 40


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading below the title. anchor: its id on the page."""

    level: int
    anchor: str
    text: str


@dataclass(frozen=True, slots=True)
class PageSection:
    """A heading of a page (or its title) with the plain text below it."""

    heading: Heading
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    """One page. summary: the first whole sentences; html: all below the title, safe to show."""

    slug: str
    title: str
    summary: str
    html: str
    headings: tuple[Heading, ...]
    parts: tuple[PageSection, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """A part of a page that has every word of a search, and where it has them."""

    page: Page
    heading: Heading
    snippet: str


def pages(folder: Path = FOLDER) -> dict[str, Page]:
    """Every page by its slug, in reading order; a page that changed on disk is read again."""
    paths = chain(folder.glob("*.md"), folder.glob("findings/*.md"))
    files = {path.stem: path for path in paths if path.stem not in ELSEWHERE}
    ordered = {slug: files[slug] for slug in _NAMED if slug in files} | files
    return {slug: _read(path, folder, path.stat().st_mtime_ns) for slug, path in ordered.items()}


def sections(all_pages: dict[str, Page]) -> list[tuple[str, list[Page]]]:
    """The pages under their sections' names; no empty sections."""
    others = sorted(all_pages.keys() - set(_NAMED))
    grouped: list[tuple[str, list[Page]]] = []
    for name, named in SECTIONS.items():
        slugs = [*named, *others] if name == OTHERS else named
        present = [all_pages[slug] for slug in slugs if slug in all_pages]
        if present:
            grouped.append((name, present))
    return grouped


def search(query: str, all_pages: dict[str, Page]) -> list[Hit]:
    """The parts that have every word, at most 40: those with most of them in the heading first,
    then those that have them next to each other.
    """
    words = query.casefold().split()
    if not words:
        return []
    ranked: list[tuple[int, bool, Hit]] = []
    for page in all_pages.values():
        for part in page.parts:
            text = f"{part.heading.text} {part.text}".casefold()
            if all(word in text for word in words):
                in_heading = sum(word in part.heading.text.casefold() for word in words)
                hit = Hit(page, part.heading, _snippet(part.text, words))
                ranked.append((-in_heading, " ".join(words) not in text, hit))
    ranked.sort(key=lambda row: row[:2])
    return [hit for *_, hit in ranked[:MOST_HITS]]


def picture(name: str) -> Path | None:
    """The file of a picture that the pages show; None where there is none."""
    if not re.fullmatch(r"[A-Za-z0-9_.-]+\.png", name):
        return None
    path = FOLDER / "screenshots" / name
    return path if path.is_file() else None


def anchor_of(text: str, taken: Sequence[str] = ()) -> str:
    """A heading's id, as GitHub makes it from its text; a repeated one gets a number."""
    anchor = plain = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
    number = 0
    while anchor in taken:
        number += 1
        anchor = f"{plain}-{number}"
    return anchor


def _snippet(text: str, words: Sequence[str]) -> str:
    places = [text.casefold().find(word) for word in words]
    first = min((place for place in places if place >= 0), default=0)
    start = max(first - SNIPPET_CHARACTERS // 3, 0)
    end = start + SNIPPET_CHARACTERS
    before = "… " if start else ""
    after = " …" if end < len(text) else ""
    return f"{before}{text[start:end]}{after}"


@cache
def _read(path: Path, folder: Path, changed_ns: int) -> Page:
    tokens = _markdown().parse(path.read_text(encoding="utf-8"))
    parts = list(_parts(tokens))
    title = parts[0].heading.text if parts else path.stem
    _link(tokens, path.parent.relative_to(folder).as_posix())
    below = tokens[3:] if tokens[:1] and tokens[0].tag == "h1" else tokens
    rendered: str = _markdown().renderer.render(below, _markdown().options, {})
    html = rendered.replace("<th></th>", "<td></td>")  # the corner of a table is not a heading
    headings = tuple(part.heading for part in parts if part.heading.level > 1)
    paragraphs = [
        _plain(token) for before, token in pairwise(tokens) if before.type == "paragraph_open"
    ]
    return Page(path.stem, title, _summary(paragraphs), html, headings, tuple(parts))


def _summary(paragraphs: Sequence[str]) -> str:
    """The first sentences of the first paragraph that has a whole one.

    What leads to a list or to code ("… exits with") says nothing without it.
    """
    for paragraph in paragraphs:
        summary = ""
        for match in _SENTENCE.finditer(paragraph):
            longer = f"{summary} {match[0]}".strip()
            if summary and len(longer) > SUMMARY_CHARACTERS:
                break
            summary = longer
        if summary:
            return summary
    return ""


@cache
def _markdown() -> MarkdownIt:
    """CommonMark with tables; HTML in a page is shown as text."""
    made = MarkdownIt("commonmark", {"html": False}).enable("table")
    # A table that is wider than the page scrolls by itself, also by keyboard
    opening = '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>\n'
    made.add_render_rule("table_open", lambda *_: opening)
    made.add_render_rule("table_close", lambda *_: "</table></div>\n")
    for kind in ("th_open", "td_open"):
        made.add_render_rule(kind, _cell)
    for kind in ("fence", "code_block"):
        made.add_render_rule(kind, _code)
    return made


def _cell(self: object, tokens: Sequence[Token], index: int, *_: object) -> str:
    """A column that is aligned to the right has numbers. Our pages' policy takes no style."""
    token = tokens[index]
    is_number = token.attrs.get("style") == "text-align:right"
    return f'<{token.tag} class="number">' if is_number else f"<{token.tag}>"


def _code(self: object, tokens: Sequence[Token], index: int, *_: object) -> str:
    code = escapeHtml(tokens[index].content)
    return f'<pre tabindex="0" role="group" aria-label="Code"><code>{code}</code></pre>\n'


def _parts(tokens: Sequence[Token]) -> Iterator[PageSection]:
    """The page cut at its headings, which get their ids on the way."""
    heading = Heading(1, "", "")
    texts: list[str] = []
    taken: list[str] = []
    for before, token in zip([None, *tokens], tokens, strict=False):
        if before is not None and before.type == "heading_open":
            if heading.text:
                yield PageSection(heading, " ".join(texts))
            text = _plain(token)
            heading = Heading(int(before.tag[1]), anchor_of(text, taken), text)
            texts = []
            taken.append(heading.anchor)
            before.attrSet("id", heading.anchor)
        elif token.type in {"inline", "fence", "code_block"}:
            texts.append(_plain(token))
    if heading.text:
        yield PageSection(heading, " ".join(texts))


def _plain(token: Token) -> str:
    if token.children is None:
        return token.content
    breaks = {"softbreak": " ", "hardbreak": " "}
    return "".join(breaks.get(child.type, child.content) for child in token.children)


def _link(tokens: Sequence[Token], folder: str) -> None:
    """Point links and pictures at the site's pages; links to other project files become text.

    folder: the page's, from docs/.
    """
    for token in tokens:
        for child in token.children or ():
            if child.type == "image":
                child.attrSet("src", f"/docs/{child.attrs.get('src', '')}")
                child.attrSet("loading", "lazy")
            elif child.type == "link_open":
                _link_one(child, folder)


def _link_one(link: Token, folder: str) -> None:
    parts = urlsplit(str(link.attrs.get("href", "")))
    if parts.scheme or not parts.path or parts.path.startswith("/"):
        return
    file = posixpath.normpath(posixpath.join("docs", folder, parts.path))  # from the project's root
    if file.startswith("docs/") and file.endswith(".md"):
        slug = posixpath.basename(file).removesuffix(".md")
        page = ELSEWHERE.get(slug, f"/docs/{slug}/")
        fragment = f"#{parts.fragment}" if parts.fragment else ""
        link.attrSet("href", f"{page}{fragment}")
    else:
        link.attrs = {"class": "file", "title": f"In the project's folder: {file}"}
