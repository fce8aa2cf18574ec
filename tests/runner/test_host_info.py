"""What a worker reports of its computer."""

from pathlib import Path

from runner.host_info import disk_space


def test_disk_of_missing_folder_is_that_of_its_parent(tmp_path: Path) -> None:
    space = disk_space(tmp_path / "not" / "yet")
    assert 0 <= space["disk_free_gb"] <= space["disk_gb"]
    assert not (tmp_path / "not").exists()
