"""The worker's settings: read once, from the environment and, where a variable is not set, from
VAR_DIR/local.env.
"""

import math
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from runner.account import Account, AccountError
from runner.gpu import Device

# What PYTHONPATH needs so that `-m benchmarks_suite` is found
PROJECT = Path(__file__).resolve().parent.parent
BROKERS = ("redis", "rediss", "redis+socket", "amqp", "amqps")


class SettingsError(Exception):
    """A setting is missing or wrong. The text names the variable and says what to do."""


@dataclass(frozen=True)
class Settings:
    """What one worker needs to know.

    worker_dir: its own folder: outbox, jobs, logs; two workers never share one.
    lock_dir: where device locks lie; the same for all workers of one computer.
    environments_dir: where environments are made; workers of one computer may share it.
        environments_gb: the disk that
    they may take. suite_pythons: further interpreters that have torch. package_index_url,
    torch_index_url: where packages come from, and torch where a build names no index; empty: what
    pip is configured with. suite_account: who runs the suite; None: who runs the worker. models:
    files and folders of own models. alive_file: touched at every heartbeat, for health checks.
    """

    site_url: str
    token: str = field(repr=False)
    broker_url: str = field(repr=False)  # may hold a password
    worker_dir: Path
    lock_dir: Path
    device: Device
    suite_python: str
    log_format: str
    environments_dir: Path
    environments_gb: float = 50.0
    suite_pythons: tuple[str, ...] = ()
    package_index_url: str = ""
    torch_index_url: str = ""
    suite_account: Account | None = None
    alive_file: Path | None = None
    models: tuple[str, ...] = ()


def read(environment: Mapping[str, str] | None = None) -> Settings:
    """The settings; SettingsError names every variable that is missing or the first that is
    wrong.
    """
    given = os.environ if environment is None else environment
    var_dir = Path(given.get("VAR_DIR") or PROJECT / "var").absolute()
    values = {
        **_local_env(var_dir / "local.env"),
        **{name: value for name, value in given.items() if value},
    }
    missing = [f"{name}: {remedy}" for name, remedy in REQUIRED.items() if not values.get(name)]
    if missing:
        start = f"or start everything with `make up`, which writes {var_dir / 'local.env'}"
        raise SettingsError("\n".join(["these settings are missing", *missing, start]))
    worker_dir = Path(values.get("WORKER_DIR") or var_dir / "worker").absolute()
    return Settings(
        site_url=_url("SITE_URL", values, ("http", "https")),
        token=values["WORKER_TOKEN"].strip(),
        broker_url=_url("BROKER_URL", values, BROKERS),
        worker_dir=worker_dir,
        lock_dir=Path(values.get("WORKER_LOCK_DIR") or _shared_lock_dir()).absolute(),
        device=_device(values.get("WORKER_DEVICE") or "cpu"),
        suite_python=_interpreter("SUITE_PYTHON", values.get("SUITE_PYTHON") or sys.executable),
        log_format=_choice("LOG_FORMAT", values.get("LOG_FORMAT") or "text", ("text", "json")),
        environments_dir=Path(
            values.get("WORKER_ENVIRONMENTS_DIR") or worker_dir / "environments"
        ).absolute(),
        environments_gb=_positive(
            "WORKER_ENVIRONMENTS_GB", values.get("WORKER_ENVIRONMENTS_GB") or "50"
        ),
        suite_pythons=tuple(
            _interpreter("SUITE_PYTHONS", path) for path in _listed(values.get("SUITE_PYTHONS", ""))
        ),
        package_index_url=_index("PACKAGE_INDEX_URL", values),
        torch_index_url=_index("TORCH_INDEX_URL", values),
        suite_account=_account(values.get("SUITE_USER", "")),
        alive_file=Path(values["ALIVE_FILE"]) if values.get("ALIVE_FILE") else None,
        models=tuple(_models(path) for path in _listed(values.get("WORKER_MODELS", ""))),
    )


REQUIRED = {
    "SITE_URL": "set it to the site's address, such as http://127.0.0.1:8000",
    "WORKER_TOKEN": "set it to this worker's token, which the site shows once, when the worker "
    "is added",
    "BROKER_URL": "set it to the broker that the site uses, such as redis://host:6379/0",
}


def _local_env(path: Path) -> dict[str, str]:
    """The NAME=value lines of a file, quotes undone as a shell would; empty where there is no such
    file.
    """
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SettingsError(
            f"cannot read {path}: {error.strerror}. Run the worker as the user who owns it"
        ) from error
    pairs = (
        line.partition("=") for line in lines if line.strip() and not line.lstrip().startswith("#")
    )
    return {name.strip(): " ".join(shlex.split(value)) for name, _, value in pairs}


def _url(name: str, values: Mapping[str, str], schemes: tuple[str, ...]) -> str:
    url = values[name].strip().rstrip("/")
    parts = urlsplit(url)
    if parts.scheme not in schemes or not (parts.hostname or parts.path):
        raise SettingsError(
            f"{name} begins with {parts.scheme!r}: it has to be an address of one of "
            f"{', '.join(schemes)}"
        )
    return url


def _device(name: str) -> Device:
    try:
        return Device.parse(name)
    except ValueError as error:
        raise SettingsError(
            f"WORKER_DEVICE is {name!r}: set it to cpu or to cuda:0, cuda:1, …"
        ) from error


def _account(name: str) -> Account | None:
    try:
        return Account.of_another(name) if name else None
    except AccountError as error:
        raise SettingsError(f"SUITE_USER is {name!r}: {error}") from error


def _interpreter(name: str, path: str) -> str:
    if not os.access(path, os.X_OK) or not Path(path).is_file():
        raise SettingsError(
            f"{name} is {path!r}, which cannot be run: set it to a Python that has torch"
        )
    return str(Path(path).absolute())


def _models(path: str) -> str:
    if not Path(path).exists():
        raise SettingsError(
            f"WORKER_MODELS names {path!r}, which is not there: name files or folders of own models"
        )
    return str(Path(path).absolute())


def _listed(paths: str) -> list[str]:
    """Paths as PATH lists them."""
    return [path for path in paths.split(os.pathsep) if path]


def _index(name: str, values: Mapping[str, str]) -> str:
    return _url(name, values, ("http", "https", "file")) if values.get(name) else ""


def _positive(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise SettingsError(f"{name} is {text!r}: set it to a number of gigabytes above 0")
    return number


def _choice(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise SettingsError(f"{name} is {value!r}: set it to one of {', '.join(allowed)}")
    return value


def _shared_lock_dir() -> Path:
    """/run/lock, which every user of a Debian may write to, or the folder for temporary files."""
    shared = Path("/run/lock")
    return shared if os.access(shared, os.W_OK) else Path("/tmp")  # noqa: S108
