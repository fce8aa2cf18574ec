"""The suite under an account of its own: it cannot read the worker's token.

The worker can still end it. Changing the account needs root or the capabilities that
docker/Dockerfile gives. Without them, the suite is not started, and these tests show that: it never
runs as the worker.
"""

import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner import settings
from runner.commands import CommandRunner
from runner.environments.installation import EnvironmentInstaller, InstallationFailed
from runner.environments.package_sources import PackageSources
from runner.job_log import JobLog
from runner.process import MARKER_VARIABLE, SuiteProcess, process_variables
from runner.suite_account import SuiteAccount, account_variables
from tests.builders.docker_files import command
from tests.builders.servers import open_folder

NOBODY = SuiteAccount("nobody", Path("/"))
IS_ROOT = os.geteuid() == 0
REFUSED = "cannot start /bin/sh as nobody: Operation not permitted"
NO_CAPABILITY = "0000000000000000"
REQUIRED = {
    "SITE_URL": "http://127.0.0.1:1",
    "WORKER_TOKEN": "t",
    "BROKER_URL": "redis://nowhere",
}
AS_DAEMON_START_NOBODY = """
import sys
from pathlib import Path
from tests.runner.test_suite_account import output_of
print(Path("/proc/self/status").read_text())
print(output_of(Path(sys.argv[1]), "cat /proc/self/status"))
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder() as path:
        yield path


def output_of(folder: Path, script: str) -> str:
    """What a shell script prints that is started as the suite is, as nobody."""
    log = JobLog(folder / "log")
    process = SuiteProcess(
        ["/bin/sh", "-c", script],
        folder=folder,
        variables=process_variables(os.environ, "mark.1", account_variables(NOBODY)),
        log=log,
        account=NOBODY,
    )
    process.watch(30, str)
    return log.tail()


def status_values(status: str, name: str) -> list[str]:
    """The values of one field in texts of /proc/self/status."""
    return [line.split()[1] for line in status.splitlines() if line.startswith(f"{name}:")]


def test_suite_runs_as_its_account_or_not_at_all(folder: Path) -> None:
    output = output_of(folder, "id -un; echo $HOME").strip()
    assert output == ("nobody\n/" if IS_ROOT else REFUSED)


def test_suite_cannot_read_environment_of_worker(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKER_TOKEN", "a-token")
    output = output_of(folder, f"tr '\\0' '\\n' < /proc/{os.getpid()}/environ; echo tried")
    assert "a-token" not in output
    assert ("tried" in output) is IS_ROOT


def test_suite_may_write_its_work_but_not_replace_files_of_worker(folder: Path) -> None:
    folder.chmod(0o1777)
    output = output_of(folder, "echo mine > note && cat note; rm -f ../log && echo removed")
    assert ("mine" in output) is IS_ROOT
    assert "removed" not in output


def test_worker_ends_suite_of_another_account(folder: Path) -> None:
    marker = f"of {folder}"
    process = SuiteProcess(
        ["/bin/sh", "-c", "setsid sleep 600 & trap '' TERM; sleep 600"],
        folder=folder,
        variables={"PATH": os.environ["PATH"], MARKER_VARIABLE: marker},
        log=JobLog(folder / "log"),
        account=NOBODY,
    )
    end = process.watch(1, str)
    assert end.stopped_for == ("timeout" if IS_ROOT else "")
    assert not any(has_marker(path, marker) for path in Path("/proc").glob("[0-9]*/environ"))


def has_marker(environ: Path, marker: str) -> bool:
    try:
        return f"{MARKER_VARIABLE}={marker}".encode() in environ.read_bytes()
    except OSError:
        return False


def test_what_was_installed_is_verified_as_the_account_of_the_suite(folder: Path) -> None:
    interpreter = folder / "environment" / "bin" / "python"
    interpreter.parent.mkdir(parents=True)
    interpreter.write_text('#!/bin/sh\nprintf \'{"account": "%s"}\' $(id -un) > $4\n')
    interpreter.chmod(0o755)
    (folder / "tmp").mkdir()
    commands = CommandRunner(folder, folder / "tmp", JobLog(folder / "log"), str)
    installer = EnvironmentInstaller(
        [], PackageSources(), "cpu", commands, folder / "scratch", account=NOBODY
    )
    if IS_ROOT:
        assert installer.verify("torch==2.13.0\n", folder / "environment") == {"account": "nobody"}
    else:
        with pytest.raises(InstallationFailed, match="Operation not permitted"):
            installer.verify("torch==2.13.0\n", folder / "environment")


def test_image_starts_worker_without_root_and_suite_without_capabilities(folder: Path) -> None:
    entrypoint = command("benchmark-worker", "ENTRYPOINT")
    start_as_daemon = [word.replace("=compilewatch", "=daemon") for word in entrypoint]
    folder.chmod(0o777)
    program = [sys.executable, "-c", AS_DAEMON_START_NOBODY, str(folder)]
    process = subprocess.run(
        [*start_as_daemon, *program], capture_output=True, text=True, check=False
    )
    users: list[str] = []
    capabilities: list[str] = []
    if IS_ROOT:
        users = [str(pwd.getpwnam(name).pw_uid) for name in ("daemon", "nobody")]
        capabilities = ["00000000000800e2", NO_CAPABILITY]
    assert status_values(process.stdout, "Uid") == users, process.stderr
    assert status_values(process.stdout, "CapEff") == capabilities


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no-such-account", "there is no such account on this computer"),
        (pwd.getpwuid(os.geteuid()).pw_name, "neither root nor the worker's"),
    ],
)
def test_account_that_protects_nothing_is_refused(name: str, reason: str) -> None:
    with pytest.raises(settings.SettingsError, match=rf"SUITE_USER is '{name}': .*{reason}"):
        settings.read({**REQUIRED, "SUITE_USER": name})
