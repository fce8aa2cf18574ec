"""Static files are collected again when a source of them has changed, and only then."""

from pathlib import Path

import pytest

from dashboard.local import project, static_files


@pytest.fixture
def collected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder in which the static files of a copy of a tiny site were collected."""
    site = tmp_path / "site" / "dashboard"
    sources = ("static/style.css", "settings.py", "site/staticfiles.py")
    for path in (site / source for source in sources):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("before")
    (tmp_path / "requirements.txt").write_text("before")
    monkeypatch.setattr(project, "ROOT", site.parent)
    monkeypatch.setattr(project, "REQUIREMENTS", tmp_path / "requirements.txt")
    (tmp_path / "static").mkdir()
    static_files.mark_collected(tmp_path)
    return tmp_path


def test_unchanged_sources_are_not_collected_again(collected: Path) -> None:
    assert not static_files.changed(collected)


@pytest.mark.parametrize(
    "source", ["site/dashboard/static/style.css", "site/dashboard/settings.py", "requirements.txt"]
)
def test_changed_source_is_noticed(collected: Path, source: str) -> None:
    (collected / source).write_text("afterwards")
    assert static_files.changed(collected)


def test_removed_files_are_collected_again(collected: Path) -> None:
    (collected / "static").rmdir()
    assert static_files.changed(collected)
