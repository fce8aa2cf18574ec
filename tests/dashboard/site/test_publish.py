"""The site as static files: every link leads to a file, and nothing is left that needs a server."""

import json
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.http import HttpRequest, HttpResponse
from django.test import Client

from dashboard.alerts.services import confirmations
from dashboard.models import AlertGroup
from dashboard.site.core.published_page import (
    address,
    file_of,
    links_of,
    relative,
    rewritten,
    rewritten_figure,
)
from tests.builders import site
from tests.builders.confirmations import answer, by_build, living_worker, suspected

SITE = "https://watch.example.org"


# --- One page


def written(html: str) -> str:
    """With /alerts/ as the only page that is published."""
    return rewritten(html, {"/alerts/": "a.html"}.get)


@pytest.mark.parametrize(
    ("link", "to"),
    [
        ("/alerts/#open", "/alerts/"),
        ("?alert=2", "/alerts/1/?alert=2"),
        ("/a/?b=2&a=1", "/a/?a=1&b=2"),
        ("https://watch.example.org/runs/", "/runs/"),
        ("https://github.com/pytorch", ""),
        ("#top", ""),
        ("mailto:ada@example.org", ""),
    ],
)
def test_address_within_the_site_is_told_from_others(link: str, to: str) -> None:
    assert address(link, "/alerts/1/", SITE) == to


def test_pages_of_two_queries_are_two_files() -> None:
    files = {file_of(page) for page in ("/compare/", "/compare/?a=1", "/compare/?a=2")}
    assert len(files) == 3
    assert all(file.startswith("compare/index") for file in files)


def test_link_between_files_is_relative() -> None:
    assert relative("alerts/1/index.html", "glossary/index.html", "case") == (
        "../../glossary/index.html#case"
    )


def test_link_to_what_is_not_published_leads_nowhere() -> None:
    html = '<p><a href="/runs/">Runs</a>, <a class="b" href="/alerts/">Alerts</a></p>'
    assert written(html) == '<p><a>Runs</a>, <a class="b" href="a.html">Alerts</a></p>'


def test_filters_and_what_is_asked_again_are_left_out() -> None:
    html = '<form class="filters"><select></select></form><div hx-get="/a/" id="b">c</div>'
    assert written(html) == '<div id="b">c</div>'


def test_table_within_a_form_stays() -> None:
    html = '<form method="post" action="/a/"><input name="b"><table></table></form>'
    assert written(html) == "<form><table></table></form>"


def test_buttons_that_work_without_a_server_stay() -> None:
    html = '<button>Save</button><button data-copy="command">Copy</button><input type="search">'
    assert written(html) == '<button data-copy="command">Copy</button><input type="search">'


def test_address_with_a_query_is_read_and_written_escaped() -> None:
    html = '<a href="/a/?b=1&amp;c=2">x</a>'
    assert rewritten(html, lambda link: link) == html


def test_text_stays_as_it_was_escaped() -> None:
    assert written("<pre>a &lt; b &#183; c</pre>") == "<pre>a &lt; b &#183; c</pre>"


def test_chart_leads_to_published_pages_alone() -> None:
    body = json.dumps({"data": [{"customdata": ["/alerts/", "/runs/", "a-job"]}]})
    figure = json.loads(rewritten_figure(body, {"/alerts/": "a.html"}.get))
    assert figure["data"][0]["customdata"] == ["a.html", None, None]


@pytest.mark.parametrize(
    ("file", "body", "links"),
    [
        ("a.css", 'a{src:url("../b.woff2")}', ["../b.woff2"]),
        ("a.js", 'import { c } from "./d.js"; import "./e.js";', ["./d.js", "./e.js"]),
        ("a.html", '<a href="/b/?c=1&amp;d=2"></a><img src="e.png">', ["/b/?c=1&d=2", "e.png"]),
        ("a.csv", 'href="/b/"', []),
    ],
)
def test_what_a_file_loads_is_known(file: str, body: str, links: list[str]) -> None:
    assert links_of(file, body.encode()) == links


# --- The whole site


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src", "action", "data-figure") and value:
                self.found.append(value)


def dead_links(folder: Path) -> Iterator[str]:
    for page in folder.rglob("*.html"):
        reader = Links()
        reader.feed(page.read_text())
        for link in reader.found:
            parts = urlsplit(link)
            is_ours = not parts.scheme and not parts.netloc and parts.path
            if is_ours and not (page.parent / unquote(parts.path)).resolve().is_file():
                yield f"{page.relative_to(folder)}: {link}"


@pytest.fixture
def published(db: None, tmp_path: Path) -> Path:
    """A site with a confirmed alert, a failed job and two builds."""
    living_worker()
    group = suspected()
    confirmations.start_due(now=group.created_at)
    answer(by_build(10))
    call_command("publish", str(tmp_path / "out"), stdout=StringIO(), stderr=StringIO())
    return tmp_path / "out"


def test_every_link_of_every_page_leads_to_a_file(published: Path) -> None:
    assert list(dead_links(published)) == []


def test_pages_figures_and_evidence_are_there(published: Path) -> None:
    group = AlertGroup.objects.get()
    for name in ("index.html", f"alerts/{group.pk}/index.html", f"series/{site.MLP}/index.html"):
        assert (published / name).is_file()
    assert list((published / "alerts" / str(group.pk)).glob("change*.json"))
    assert list((published / "alerts" / str(group.pk)).glob("report*.zip"))
    assert list((published / "series" / site.MLP).glob("data*.json"))


def test_search_leads_to_the_list_of_all_pages(published: Path) -> None:
    assert 'action="contents/index.html"' in (published / "index.html").read_text()
    title = AlertGroup.objects.get().title
    assert title in (published / "contents" / "index.html").read_text().replace("<wbr>", "")


def test_copy_says_what_it_is_and_the_site_does_not(published: Path, reader: Client) -> None:
    note = "it does not change."
    assert note in (published / "index.html").read_text()
    assert note not in reader.get("/").content.decode()


def test_nothing_of_people_is_in_a_page(published: Path) -> None:
    text = "".join(page.read_text() for page in published.rglob("*.html"))
    for word in ("csrfmiddlewaretoken", "hx-get", "/sign-in/", "<select", "/admin/"):
        assert word not in text


def test_folder_that_was_published_is_written_again(published: Path) -> None:
    (published / "old.html").touch()
    call_command("publish", str(published), stdout=StringIO(), stderr=StringIO())
    assert not (published / "old.html").exists()


def test_folder_with_other_files_is_left_alone(db: None, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(CommandError, match="files that were not published"):
        call_command("publish", str(tmp_path))
    assert (tmp_path / "thesis.txt").exists()


def no_alerts(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[..., HttpResponse]:
    """A middleware for which one page has a bug."""

    def answer_or_fail(request: HttpRequest) -> HttpResponse:
        if request.path == "/alerts/":
            raise ZeroDivisionError
        return get_response(request)

    return answer_or_fail


def test_page_that_fails_is_named_and_the_others_are_there(
    db: None, settings: Any, tmp_path: Path
) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, f"{__name__}.no_alerts"]
    err = StringIO()
    call_command("publish", str(tmp_path), stdout=StringIO(), stderr=err)
    assert err.getvalue() == "left out, it did not answer: /alerts/\n"
    assert (tmp_path / "index.html").is_file()


def test_size_and_time_are_printed(db: None, tmp_path: Path) -> None:
    out = StringIO()
    call_command("publish", str(tmp_path / "out"), stdout=out, stderr=StringIO())
    assert "MiB, in" in out.getvalue()
