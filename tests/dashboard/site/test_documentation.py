"""The documentation: as pages of the site, and as files without a dead link."""

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.urls import reverse

from dashboard.site import documentation
from dashboard.site.documentation import Page
from tests.builders.local_site import OURS
from tests.builders.reading import page_text

ROOT = Path(__file__).parents[3]
FILES = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]
LINK = re.compile(r"(?<!`)\[[^\]\n]*\]\(([^)\s]+)\)")
LINK_OF_TEMPLATE = re.compile(r"""{% url 'docs_page' '([a-z-]+)' %}#([a-z0-9-]+)""")


def page_of(tmp_path: Path, text: str) -> Page:
    (tmp_path / "page.md").write_text(text)
    return documentation.pages(tmp_path)["page"]


def test_no_link_is_dead() -> None:
    anchors = {
        page.slug: {h.anchor for h in page.headings} for page in documentation.pages().values()
    }
    dead = []
    for file in FILES:
        text = re.sub(r"```.*?```", "", file.read_text(), flags=re.DOTALL)
        for target in LINK.findall(text):
            parts = urlsplit(target)
            path = (file.parent / parts.path).resolve() if parts.path else file
            is_known = not parts.fragment or parts.fragment in anchors.get(path.stem, ())
            if not parts.scheme and not (path.exists() and is_known):
                dead.append(f"{file.relative_to(ROOT)}: {target}")
    assert not dead, "\n".join(dead)


def test_no_link_from_a_template_to_a_heading_is_dead() -> None:
    pages = documentation.pages()
    dead = []
    for template in (ROOT / "dashboard" / "templates").rglob("*.html"):
        for slug, anchor in LINK_OF_TEMPLATE.findall(template.read_text()):
            if anchor not in {heading.anchor for heading in pages[slug].headings}:
                dead.append(f"{template.name}: {slug}#{anchor}")
    assert not dead, "\n".join(dead)


def test_every_setting_that_the_code_reads_is_in_the_table() -> None:
    table = (ROOT / "docs" / "architecture.md").read_text()
    code = "".join(
        path.read_text()
        for path in [ROOT / "dashboard" / "settings.py", ROOT / "runner" / "settings.py"]
    )
    read = set(
        re.findall(
            r"""(?:env\.\w+|required|values\.get|_url|_index|_interpreter)\(\s*"([A-Z_]+)\"""", code
        )
    )
    assert {name for name in read if f"`{name}`" not in table} == set()
    assert len(read) > 25


@pytest.mark.parametrize("command", ["docs/reference.py", "-m tests.lab.results"])
def test_generated_pages_are_current(command: str, tmp_path: Path) -> None:
    of_a_shell = {name: value for name, value in os.environ.items() if name not in OURS}
    subprocess.run(
        [sys.executable, *command.split(), str(tmp_path)],
        cwd=ROOT,
        env=of_a_shell,
        check=True,
    )
    for made in tmp_path.iterdir():
        assert made.read_text() == (ROOT / "docs" / made.name).read_text(), f"run: python {command}"


def test_html_in_a_page_is_shown_as_text(tmp_path: Path) -> None:
    html = page_of(tmp_path, "# T\n\n<script>x</script> [a](javascript:x)\n\n```\n<b>\n```\n").html
    assert "<script>" not in html
    assert "<b>" not in html
    assert 'href="javascript' not in html


def test_links_between_files_lead_to_pages(tmp_path: Path) -> None:
    html = page_of(
        tmp_path, "# T\n\n[a](other.md#part-one) ![p](screenshots/a.png) [f](../Makefile)\n"
    ).html
    assert 'href="/docs/other/#part-one"' in html
    assert 'src="/docs/screenshots/a.png"' in html
    assert 'title="In the project\'s folder: Makefile"' in html.replace("&#x27;", "'").replace(
        "&#39;", "'"
    )


def test_link_to_the_words_leads_to_the_glossary(tmp_path: Path) -> None:
    assert (
        f'href="{reverse("glossary")}"'
        in page_of(tmp_path, "# T\n\n[words](reference-words.md)\n").html
    )
    assert "reference-words" not in documentation.pages()


def test_findings_and_other_pages_link_each_other(tmp_path: Path) -> None:
    (tmp_path / "findings").mkdir()
    (tmp_path / "findings" / "bug.md").write_text("# B\n\n[up](../page.md#a) [script](bug.py)\n")
    page = page_of(tmp_path, "# T\n\n[bug](findings/bug.md)\n")
    finding = documentation.pages(tmp_path)["bug"]
    assert 'href="/docs/bug/"' in page.html
    assert 'href="/docs/page/#a"' in finding.html
    assert "folder: docs/findings/bug.py" in finding.html


def test_findings_stand_together() -> None:
    findings = {page.stem for page in (documentation.FOLDER / "findings").glob("*.md")}
    assert findings == set(documentation.SECTIONS["Found in PyTorch"])


def test_headings_have_the_ids_that_links_use(tmp_path: Path) -> None:
    page = page_of(tmp_path, "# T\n\n## What `it` is, in words\n\n## Again\n\n## Again\n")
    assert [heading.anchor for heading in page.headings] == [
        "what-it-is-in-words",
        "again",
        "again-1",
    ]
    assert 'id="what-it-is-in-words"' in page.html


def test_columns_aligned_to_the_right_are_numbers_without_a_style(tmp_path: Path) -> None:
    html = page_of(tmp_path, "# T\n\n| name | ms |\n|:--|--:|\n| a | 1 |\n").html
    assert '<th class="number">ms</th>' in html
    assert '<td class="number">1</td>' in html
    assert "<td>a</td>" in html
    assert "style=" not in html  # the site's policy refuses it


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("One sentence of torch 2.9.0. Another\none.", "One sentence of torch 2.9.0. Another one."),
        ("It stops. The error:\n\n    E1", "It stops."),
        ("It exits with\n\n- 0\n\nWhat it says.", "What it says."),
        ("```\nrun\n```\n\nIt runs.", "It runs."),
        (f"{'a' * 150} b. {'c' * 60}.", f"{'a' * 150} b."),
        (f"{'a' * 300} b. Short.", f"{'a' * 300} b."),
        ("No end", ""),
    ],
)
def test_summary_is_whole_sentences(text: str, summary: str, tmp_path: Path) -> None:
    assert page_of(tmp_path, f"# T\n\n{text}\n").summary == summary


def test_every_page_has_a_summary() -> None:
    silent = [slug for slug, page in documentation.pages().items() if not page.summary]
    assert not silent, "\n".join(silent)


def test_search_finds_the_part_that_has_every_word(tmp_path: Path) -> None:
    page_of(tmp_path, "# T\n\nAlpha.\n\n## Two\n\nAlpha and beta.\n\n## Beta\n\nalpha\n")
    hits = documentation.search("ALPHA beta", documentation.pages(tmp_path))
    assert [hit.heading.text for hit in hits] == ["Beta", "Two"]


def test_search_begins_with_most_words_in_the_heading_then_with_the_phrase(tmp_path: Path) -> None:
    sections = [("Alpha", "some beta"), ("Alphas", "alpha beta"), ("Beta of alpha", "text")]
    text = "".join(f"## {heading}\n\n{below}\n\n" for heading, below in sections)
    page_of(tmp_path, f"# T\n\n{text}")
    hits = documentation.search("alpha beta", documentation.pages(tmp_path))
    assert [hit.heading.text for hit in hits] == ["Beta of alpha", "Alphas", "Alpha"]


def test_changed_page_is_read_again(tmp_path: Path) -> None:
    assert page_of(tmp_path, "# One\n").title == "One"
    assert page_of(tmp_path, "# Another\n").title == "Another"


@pytest.mark.django_db
def test_every_page_opens(reader: Client) -> None:
    offenders = []
    for slug in documentation.pages():
        shown = reader.get(reverse("docs_page", args=[slug]))
        if shown.status_code != 200 or 'aria-current="page"' not in page_text(shown):
            offenders.append(f"{slug}: {shown.status_code}")
    assert not offenders, "\n".join(offenders)


@pytest.mark.django_db
def test_the_search_page_shows_what_it_finds_escaped(reader: Client) -> None:
    assert "places in the documentation" in page_text(
        reader.get(reverse("docs"), {"q": "eager control"})
    )
    empty = page_text(reader.get(reverse("docs"), {"q": "<script>nothing"}))
    assert "“&lt;script&gt;nothing”" in empty
    assert "No page has all of these words" in empty


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path", ["/docs/nothing/", "/docs/screenshots/none.png", "/docs/screenshots/..%2Fa.md"]
)
def test_missing_page_or_picture_is_404(reader: Client, path: str) -> None:
    assert reader.get(path).status_code == 404


@pytest.mark.django_db
def test_pictures_are_served(reader: Client) -> None:
    answer = reader.get("/docs/screenshots/alert-desk-light.png")
    assert answer["Content-Type"] == "image/png"
    answer.close()
