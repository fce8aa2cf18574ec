"""What a worker says of its computer."""

from pathlib import Path

from runner import facts


def test_the_disk_of_a_folder_that_is_not_made_yet_is_that_of_its_parent(tmp_path: Path) -> None:
    found = facts.disk(tmp_path / "not" / "yet")
    assert 0 <= found["disk_free_gb"] <= found["disk_gb"]
    assert not (tmp_path / "not").exists()
