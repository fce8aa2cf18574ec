"""The suite under an account of its own: it cannot read the worker's token, and the worker can
still end it.

Changing the account needs root or the capabilities that docker/Dockerfile gives. Without them, the
suite is not started, and these tests show that: never does it run as the worker.
"""

import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner import settings
from runner.account import Account
from runner.joblog import JobLog
from runner.process import MARK, Suite, environment
from tests.builders.docker_files import command
from tests.builders.servers import open_folder

NOBODY = Account("nobody", Path("/"))
IS_ROOT = os.geteuid() == 0
REFUSED = "cannot start /bin/sh as nobody: Operation not permitted"
NEEDED = {"SITE_URL": "http://127.0.0.1:1", "WORKER_TOKEN": "t", "BROKER_URL": "redis://nowhere"}
AS_DAEMON_START_NOBODY = """
import sys
from pathlib import Path
from tests.runner.test_account import say
print(Path("/proc/self/status").read_text())
print(say(Path(sys.argv[1]), "cat /proc/self/status"))
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder() as found:
        yield found


def say(folder: Path, script: str) -> str:
    """What a shell script prints that is started as the suite is, as nobody."""
    log = JobLog(folder / "log")
    variables = environment(os.environ, "mark.1", NOBODY.variables)
    Suite(
        ["/bin/sh", "-c", script], folder=folder, variables=variables, log=log, account=NOBODY
    ).watch(30, str)
    return log.tail()


def field(status: str, name: str) -> list[str]:
    """The values of one field in texts of /proc/self/status."""
    return [line.split()[1] for line in status.splitlines() if line.startswith(f"{name}:")]


def test_the_suite_runs_as_its_account_or_not_at_all(folder: Path) -> None:
    assert say(folder, "id -un; echo $HOME").strip() == ("nobody\n/" if IS_ROOT else REFUSED)


def test_the_suite_cannot_read_the_workers_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKER_TOKEN", "a-token")
    said = say(folder, f"tr '\\0' '\\n' < /proc/{os.getpid()}/environ; echo tried")
    assert ("a-token" in said, "tried" in said) == (False, IS_ROOT)


def test_the_suite_may_write_its_work_and_not_replace_the_workers_files(folder: Path) -> None:
    folder.chmod(0o1777)
    said = say(folder, "echo mine > note && cat note; rm -f ../log && echo removed")
    assert ("mine" in said, "removed" in said) == (IS_ROOT, False)


def test_the_worker_ends_a_suite_of_another_account(folder: Path) -> None:
    log = JobLog(folder / "log")
    script = "setsid sleep 600 & trap '' TERM; sleep 600"
    variables = {"PATH": os.environ["PATH"], MARK: f"of {folder}"}
    suite = Suite(
        ["/bin/sh", "-c", script], folder=folder, variables=variables, log=log, account=NOBODY
    )
    ended = suite.watch(1, str)
    assert ended.stopped_for == ("timeout" if IS_ROOT else "")
    assert not [
        path
        for path in Path("/proc").glob("[0-9]*/environ")
        if marked(path, b"of " + bytes(folder))
    ]


def marked(environ: Path, mark: bytes) -> bool:
    try:
        return f"{MARK}=".encode() + mark in environ.read_bytes()
    except OSError:
        return False


def test_as_the_image_starts_it_the_worker_is_not_root_and_the_suite_keeps_no_capability(
    folder: Path,
) -> None:
    started_by_image = [
        word.replace("=compilewatch", "=daemon")
        for word in command("benchmark-worker", "ENTRYPOINT")
    ]
    folder.chmod(0o777)
    words = [*started_by_image, sys.executable, "-c", AS_DAEMON_START_NOBODY, str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    expected = [str(pwd.getpwnam(name).pw_uid) for name in ("daemon", "nobody")]
    assert field(done.stdout, "Uid") == (expected if IS_ROOT else []), done.stderr
    assert field(done.stdout, "CapEff") == (
        ["00000000000800e2", "0000000000000000"] if IS_ROOT else []
    )


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("no-such-account", "there is no such account on this computer"),
        (pwd.getpwuid(os.geteuid()).pw_name, "neither root nor the worker's"),
    ],
)
def test_an_account_that_protects_nothing_is_refused(name: str, told: str) -> None:
    with pytest.raises(settings.SettingsError, match=rf"SUITE_USER is '{name}': .*{told}"):
        settings.read({**NEEDED, "SUITE_USER": name})
