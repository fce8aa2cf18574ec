"""Settings are typed; an error names what is missing or wrong, and says what to do."""

import sys
from pathlib import Path

import pytest

from runner.device import WorkerDevice
from runner.environments.adopted import UnusableEnvironment, adopt, adopt_further
from runner.settings import SettingsError, WorkerSettings, read
from runner.worker_folder import lock_worker_folder

COMPLETE = {
    "SITE_URL": "http://site",
    "WORKER_TOKEN": "token",
    "BROKER_URL": "redis://broker",
}


def read_complete(tmp_path: Path, **changes: str) -> WorkerSettings:
    return read({**COMPLETE, "VAR_DIR": str(tmp_path), **changes})


def test_unset_variables_are_read_from_local_env(tmp_path: Path) -> None:
    (tmp_path / "local.env").write_text(
        "# made by make up\nWORKER_TOKEN='a token'\nSITE_URL=http://other\nBROKER_URL=redis://b\n"
    )
    settings = read({"SITE_URL": "http://site", "VAR_DIR": str(tmp_path)})
    assert settings.site_url == "http://site"
    assert settings.token == "a token"


def test_every_missing_variable_is_named_with_what_to_do(tmp_path: Path) -> None:
    named = r"SITE_URL: set it to the site's address.*\n.*WORKER_TOKEN.*\n.*BROKER_URL"
    with pytest.raises(SettingsError, match=named):
        read({"VAR_DIR": str(tmp_path)})


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("SITE_URL", "site:8000", "SITE_URL begins with 'site'"),
        ("BROKER_URL", "postgres://x", "BROKER_URL begins with 'postgres'"),
        ("WORKER_DEVICE", "gpu0", "set it to cpu or to cuda:0"),
        ("SUITE_PYTHON", "/nowhere", "SUITE_PYTHON is '/nowhere', which cannot be run"),
        ("SUITE_PYTHONS", f"{sys.executable}:/nowhere", "SUITE_PYTHONS is '/nowhere'"),
        ("WORKER_ENVIRONMENTS_GB", "much", "is 'much': set it to a number of gigabytes"),
        ("WORKER_ENVIRONMENTS_GB", "-1", "above 0"),
        ("PACKAGE_INDEX_URL", "pypi.org", "PACKAGE_INDEX_URL begins with ''"),
        ("LOG_FORMAT", "xml", "set it to one of text, json"),
    ],
)
def test_wrong_value_is_named_with_what_to_do(
    tmp_path: Path, name: str, value: str, complaint: str
) -> None:
    with pytest.raises(SettingsError, match=complaint):
        read_complete(tmp_path, **{name: value})


def test_secrets_are_not_in_the_text_of_the_settings(tmp_path: Path) -> None:
    text = repr(read_complete(tmp_path, WORKER_TOKEN="hush", BROKER_URL="redis://:hush@broker"))
    assert "hush" not in text


def test_defaults_are_a_cpu_worker_with_our_own_interpreter(tmp_path: Path) -> None:
    settings = read_complete(tmp_path)
    assert settings.device == WorkerDevice("cpu")
    assert settings.suite_python == sys.executable
    assert settings.worker_dir == tmp_path / "worker"


def test_empty_value_counts_as_unset(tmp_path: Path) -> None:
    (tmp_path / "local.env").write_text("WORKER_DEVICE=\n")
    assert read_complete(tmp_path, WORKER_DIR="").worker_dir == tmp_path / "worker"
    assert read_complete(tmp_path).device == WorkerDevice("cpu")


def test_further_interpreters_are_listed_as_in_path(tmp_path: Path) -> None:
    settings = read_complete(tmp_path, SUITE_PYTHONS=f"{sys.executable}::")
    assert settings.suite_pythons == (sys.executable,)


def test_environments_are_in_the_folder_of_the_worker_by_default(tmp_path: Path) -> None:
    settings = read_complete(tmp_path)
    assert settings.environments_dir == tmp_path / "worker" / "environments"


def test_environments_are_in_the_folder_that_is_set(tmp_path: Path) -> None:
    settings = read_complete(tmp_path, WORKER_ENVIRONMENTS_DIR="/big/disk")
    assert settings.environments_dir == Path("/big/disk")


def test_folder_that_another_worker_uses_is_refused(tmp_path: Path) -> None:
    lock_worker_folder(tmp_path, patience_s=0)
    with pytest.raises(SettingsError, match="which another worker uses"):
        lock_worker_folder(tmp_path, patience_s=0)


@pytest.fixture
def bare_python(tmp_path: Path) -> Path:
    """An interpreter without any package."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    python.chmod(0o755)
    return python


def test_interpreter_without_torch_is_refused_by_name(tmp_path: Path, bare_python: Path) -> None:
    settings = read_complete(tmp_path, SUITE_PYTHON=str(bare_python))
    problem = rf"SUITE_PYTHON is {bare_python}.*No module named 'torch'"
    with pytest.raises(UnusableEnvironment, match=problem):
        adopt(settings)


def test_further_interpreter_that_is_unusable_is_left_out(
    tmp_path: Path, bare_python: Path
) -> None:
    settings = read_complete(tmp_path, SUITE_PYTHONS=f"{bare_python}:{sys.executable}")
    [adopted] = adopt_further(settings)
    assert adopted.command[0] == sys.executable
    assert adopted.build["libraries"]["numpy"]
