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

from dashboard.alerts.services import confirmations
from dashboard.models import AlertGroup
from dashboard.site.core.published_page import (
    CopyLinks,
    address,
    assets_of,
    file_of,
    relative,
    rewritten,
    rewritten_figure,
)
from tests.builders import site
from tests.builders.confirmations import answer, by_build, living_worker, suspected

SITE = "https://watch.example.org"
COPY = CopyLinks("A copy.", "contents/index.html", "search.json", "static/published.js")


# --- One page


def written(html: str) -> str:
    """With /alerts/ as the only page that is published."""
    return rewritten(html, lambda link: "a.html" if link == "/alerts/" else None, COPY)


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


def test_link_to_what_is_not_published_becomes_text() -> None:
    html = '<p><a href="/runs/">Runs</a>, <a href="/alerts/">Alerts</a></p>'
    assert written(html) == '<p><span>Runs</span>, <a href="a.html">Alerts</a></p>'


def test_button_and_entry_of_the_head_that_lead_nowhere_are_left_out() -> None:
    html = '<nav><a href="/runs/">Runs</a></nav><a class="button" href="/x.csv">CSV</a>'
    assert written(html) == '<nav><a href="contents/index.html">All pages</a></nav>'


def test_forms_and_what_is_asked_again_are_left_out() -> None:
    html = '<form class="filters"><select></select></form><div hx-get="/a/" id="b">c</div>'
    assert written(html) == '<div id="b">c</div>'


def test_table_within_a_form_stays() -> None:
    html = '<form method="post" action="/a/"><input name="b"><table></table></form>'
    assert written(html) == "<div><table></table></div>"


def test_text_stays_as_it_was_escaped() -> None:
    assert written("<pre>a &lt; b &#183; c</pre>") == "<pre>a &lt; b &#183; c</pre>"


def test_chart_leads_to_published_pages_alone() -> None:
    body = json.dumps({"data": [{"customdata": ["/alerts/", "/runs/", "a-job"]}]})
    figure = json.loads(rewritten_figure(body, {"/alerts/": "a.html"}.get))
    assert figure["data"][0]["customdata"] == ["a.html", None, None]


def test_what_styles_and_scripts_load_is_known() -> None:
    text = 'a{src:url("../b.woff2")} import { c } from "./d.js"; import "./e.js";'
    assert assets_of(text) == ["../b.woff2", "./d.js", "./e.js"]


# --- The whole site


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src", "action", "data-figure", "data-index") and value:
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


def test_search_knows_the_alert(published: Path) -> None:
    entries = json.loads((published / "search.json").read_text())
    group = AlertGroup.objects.get()
    assert {"title": group.title, "url": f"alerts/{group.pk}/index.html"} in entries


def test_nothing_of_people_is_in_a_page(published: Path) -> None:
    text = "".join(page.read_text() for page in published.rglob("*.html"))
    for word in ("csrfmiddlewaretoken", "hx-get", "/sign-in/", "<select", "/admin/"):
        assert word not in text


def test_folder_that_was_published_is_written_anew(published: Path) -> None:
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
