"""Settings are typed, and what is missing or wrong is told by name, with what to do."""

import sys
from pathlib import Path

import pytest

from runner import environments, folder
from runner.gpu import Device
from runner.settings import Settings, SettingsError, read

COMPLETE = {"SITE_URL": "http://site", "WORKER_TOKEN": "token", "BROKER_URL": "redis://broker"}


def settings(tmp_path: Path, **changes: str) -> Settings:
    return read({**COMPLETE, "VAR_DIR": str(tmp_path), **changes})


def test_what_is_not_set_is_read_from_local_env(tmp_path: Path) -> None:
    (tmp_path / "local.env").write_text(
        "# made by make up\nWORKER_TOKEN='a token'\nSITE_URL=http://other\nBROKER_URL=redis://b\n"
    )
    found = read({"SITE_URL": "http://site", "VAR_DIR": str(tmp_path)})
    assert (found.site_url, found.token) == ("http://site", "a token")


def test_every_missing_variable_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(
        SettingsError,
        match=r"SITE_URL: set it to the site's address.*\n.*WORKER_TOKEN.*\n.*BROKER_URL",
    ):
        read({"VAR_DIR": str(tmp_path)})


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("SITE_URL", "site:8000", "SITE_URL begins with 'site'"),
        ("BROKER_URL", "postgres://x", "BROKER_URL begins with 'postgres'"),
        ("WORKER_DEVICE", "gpu0", "set it to cpu or to cuda:0"),
        (
            "SUITE_PYTHON",
            "/nowhere/python",
            "SUITE_PYTHON is '/nowhere/python', which cannot be run",
        ),
        (
            "SUITE_PYTHONS",
            f"{sys.executable}:/nowhere/python",
            "SUITE_PYTHONS is '/nowhere/python'",
        ),
        (
            "WORKER_ENVIRONMENTS_GB",
            "much",
            "WORKER_ENVIRONMENTS_GB is 'much': set it to a number of gigabytes",
        ),
        ("WORKER_ENVIRONMENTS_GB", "-1", "above 0"),
        ("PACKAGE_INDEX_URL", "pypi.org", "PACKAGE_INDEX_URL begins with ''"),
        ("LOG_FORMAT", "xml", "set it to one of text, json"),
    ],
)
def test_a_wrong_value_is_told_with_what_to_do(
    tmp_path: Path, name: str, value: str, complaint: str
) -> None:
    with pytest.raises(SettingsError, match=complaint):
        settings(tmp_path, **{name: value})


def test_secrets_are_not_in_the_text_of_the_settings(tmp_path: Path) -> None:
    text = repr(settings(tmp_path, WORKER_TOKEN="hush", BROKER_URL="redis://:hush@broker"))
    assert "hush" not in text


def test_defaults_are_a_cpu_worker_with_our_own_interpreter(tmp_path: Path) -> None:
    found = settings(tmp_path)
    assert (found.device, found.suite_python, found.worker_dir) == (
        Device("cpu"),
        sys.executable,
        tmp_path / "worker",
    )


def test_further_interpreters_are_listed_as_in_path(tmp_path: Path) -> None:
    assert settings(tmp_path, SUITE_PYTHONS=f"{sys.executable}::").suite_pythons == (
        sys.executable,
    )


def test_environments_lie_in_the_workers_folder_unless_told_otherwise(tmp_path: Path) -> None:
    assert settings(tmp_path).environments_dir == tmp_path / "worker" / "environments"
    assert settings(tmp_path, WORKER_ENVIRONMENTS_DIR="/big/disk").environments_dir == Path(
        "/big/disk"
    )


def test_a_folder_that_another_worker_uses_is_refused(tmp_path: Path) -> None:
    folder.hold(tmp_path, patience_s=0)
    with pytest.raises(SettingsError, match="which another worker uses"):
        folder.hold(tmp_path, patience_s=0)


def test_an_interpreter_without_torch_is_refused_by_name(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o755)
    with pytest.raises(
        environments.UnfitEnvironment, match=rf"SUITE_PYTHON is {bare}.*No module named 'torch'"
    ):
        environments.adopt(settings(tmp_path, SUITE_PYTHON=str(bare)))


def test_a_further_interpreter_that_is_unfit_is_left_out_and_the_worker_goes_on(
    tmp_path: Path,
) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o755)
    found = environments.adopt_also(settings(tmp_path, SUITE_PYTHONS=f"{bare}:{sys.executable}"))
    assert [each.command[0] for each in found] == [sys.executable]
    assert found[0].build["libraries"]["numpy"]
