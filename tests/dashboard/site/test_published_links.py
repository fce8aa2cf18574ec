"""The script that follows every link of a static copy finds what is dead."""

from pathlib import Path

from tests.end_to_end.published_links import Copy


def copy_of(folder: Path, **pages: str) -> Copy:
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text)
    copy = Copy(folder)
    copy.crawl()
    return copy


def test_link_to_what_is_not_there_is_dead(tmp_path: Path) -> None:
    copy = copy_of(tmp_path, index='<a href="a.html">a</a>', a='<a href="b.html">b</a>')
    assert copy.dead == {"b.html"}


def test_place_that_a_page_does_not_have_is_dead(tmp_path: Path) -> None:
    links = '<a href="a.html#x">x</a> <a href="a.html#y">y</a>'
    copy = copy_of(tmp_path, index=links, a='<p id="x">')
    assert copy.places_that_are_not_there() == {("a.html", "y")}


def test_links_to_other_sites_are_not_followed(tmp_path: Path) -> None:
    copy = copy_of(tmp_path, index='<a href="https://example.org/">out</a> <img src="data:,x">')
    assert copy.read == {"index.html"}
    assert not copy.dead


def test_style_sheets_and_the_search_are_followed(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text("b { background: url('none.png') }")
    links = '<link href="a.css"> <form action="gone.html"></form>'
    assert copy_of(tmp_path, index=links).dead == {"none.png", "gone.html"}
