"""The worker's settings, read once.

They come from the environment and, where a variable is not set, from VAR_DIR/local.env.
"""

import math
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from runner.device import WorkerDevice
from runner.suite_account import SuiteAccount, SuiteAccountError

# What PYTHONPATH needs so that `-m benchmarks_suite` works
PROJECT = Path(__file__).resolve().parent.parent
BROKERS = ("redis", "rediss", "redis+socket", "amqp", "amqps")
LOG_FORMATS = ("text", "json")
REQUIRED = {
    "SITE_URL": "set it to the site's address, such as http://127.0.0.1:8000",
    "WORKER_TOKEN": (
        "set it to this worker's token, which the site shows once, when the worker is added"
    ),
    "BROKER_URL": "set it to the broker that the site uses, such as redis://host:6379/0",
}


class SettingsError(Exception):
    """A setting is missing or wrong. The text names the variable and says what to do."""


@dataclass(frozen=True)
class WorkerSettings:
    """Settings of one worker.

    worker_dir: its own folder: outbox, jobs, logs; two workers never share one.
    lock_dir: where device locks are; the same for all workers of one computer.
    environments_dir: where environments are made; workers of one computer may share it.
    environments_gb: the disk that they may take.
    free_gb: where a disk has less room, no job is begun.
    suite_pythons: further interpreters that have torch.
    package_index_url: where packages come from; empty: what pip is configured with.
    torch_index_url: the same for torch, where a build names no index.
    suite_account: whom the suite runs as; None: whoever runs the worker.
    alive_file: touched at every heartbeat, for health checks.
    models: files and folders of own models.
    """

    site_url: str
    token: str = field(repr=False)
    broker_url: str = field(repr=False)  # may hold a password
    worker_dir: Path
    lock_dir: Path
    device: WorkerDevice
    suite_python: str
    log_format: str
    environments_dir: Path
    environments_gb: float = 50.0
    free_gb: float = 1.0
    suite_pythons: tuple[str, ...] = ()
    package_index_url: str = ""
    torch_index_url: str = ""
    suite_account: SuiteAccount | None = None
    alive_file: Path | None = None
    models: tuple[str, ...] = ()

    @property
    def needed_mb(self) -> int:
        """`free_gb` in megabytes."""
        return int(self.free_gb * 1000)


def read(environment: Mapping[str, str] | None = None) -> WorkerSettings:
    """The settings; SettingsError names all missing variables, or the first that is wrong."""
    given = os.environ if environment is None else environment
    var_dir = Path(given.get("VAR_DIR", "") or PROJECT / "var").absolute()
    values = _local_env(var_dir / "local.env")
    values.update({name: value for name, value in given.items() if value})
    _require_all(values, var_dir)
    worker_dir = Path(values.get("WORKER_DIR", var_dir / "worker")).absolute()
    lock_dir = values.get("WORKER_LOCK_DIR") or _shared_lock_dir()
    environments_dir = values.get("WORKER_ENVIRONMENTS_DIR") or worker_dir / "environments"
    suite_pythons = _split_paths(values.get("SUITE_PYTHONS", ""))
    models = _split_paths(values.get("WORKER_MODELS", ""))
    alive_file = values.get("ALIVE_FILE")
    return WorkerSettings(
        site_url=_url("SITE_URL", values, ("http", "https")),
        token=values["WORKER_TOKEN"].strip(),
        broker_url=_url("BROKER_URL", values, BROKERS),
        worker_dir=worker_dir,
        lock_dir=Path(lock_dir).absolute(),
        device=_device(values.get("WORKER_DEVICE", "cpu")),
        suite_python=_interpreter("SUITE_PYTHON", values.get("SUITE_PYTHON", sys.executable)),
        log_format=_log_format(values.get("LOG_FORMAT", "text")),
        environments_dir=Path(environments_dir).absolute(),
        environments_gb=_gigabytes(
            "WORKER_ENVIRONMENTS_GB", values.get("WORKER_ENVIRONMENTS_GB", "50")
        ),
        free_gb=_gigabytes("WORKER_FREE_GB", values.get("WORKER_FREE_GB", "1")),
        suite_pythons=tuple(_interpreter("SUITE_PYTHONS", path) for path in suite_pythons),
        package_index_url=_optional_url("PACKAGE_INDEX_URL", values),
        torch_index_url=_optional_url("TORCH_INDEX_URL", values),
        suite_account=_account(values.get("SUITE_USER", "")),
        alive_file=Path(alive_file) if alive_file else None,
        models=tuple(_models(path) for path in models),
    )


def _require_all(values: Mapping[str, str], var_dir: Path) -> None:
    missing = [f"{name}: {remedy}" for name, remedy in REQUIRED.items() if not values.get(name)]
    if missing:
        start = f"or start everything with `make up`, which writes {var_dir / 'local.env'}"
        raise SettingsError("\n".join(["these settings are missing", *missing, start]))


def _local_env(path: Path) -> dict[str, str]:
    """The NAME=value lines of a file, unquoted as a shell would; lines without a value left out.

    Empty where there is no such file.
    """
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SettingsError(
            f"cannot read {path}: {error.strerror}. Run the worker as the user who owns it"
        ) from error
    values = {}
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, _, quoted = line.partition("=")
        value = " ".join(shlex.split(quoted))
        if value:
            values[name.strip()] = value
    return values


def _url(name: str, values: Mapping[str, str], schemes: tuple[str, ...]) -> str:
    url = values[name].strip().rstrip("/")
    parts = urlsplit(url)
    if parts.scheme not in schemes or not (parts.hostname or parts.path):
        raise SettingsError(
            f"{name} begins with {parts.scheme!r}: it has to be an address of one of "
            f"{', '.join(schemes)}"
        )
    return url


def _optional_url(name: str, values: Mapping[str, str]) -> str:
    if not values.get(name):
        return ""
    return _url(name, values, ("http", "https", "file"))


def _device(name: str) -> WorkerDevice:
    try:
        return WorkerDevice.parse(name)
    except ValueError as error:
        raise SettingsError(
            f"WORKER_DEVICE is {name!r}: set it to cpu or to cuda:0, cuda:1, …"
        ) from error


def _account(name: str) -> SuiteAccount | None:
    if not name:
        return None
    try:
        return SuiteAccount.find(name)
    except SuiteAccountError as error:
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
            f"WORKER_MODELS names {path!r}, which does not exist: name files or folders of own "
            "models"
        )
    return str(Path(path).absolute())


def _split_paths(paths: str) -> list[str]:
    """Paths as PATH lists them."""
    return [path for path in paths.split(os.pathsep) if path]


def _gigabytes(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise SettingsError(f"{name} is {text!r}: set it to a number of gigabytes above 0")
    return number


def _log_format(name: str) -> str:
    if name not in LOG_FORMATS:
        raise SettingsError(f"LOG_FORMAT is {name!r}: set it to one of {', '.join(LOG_FORMATS)}")
    return name


def _shared_lock_dir() -> Path:
    """/run/lock, which every user of a Debian may write to, or the folder for temporary files."""
    shared = Path("/run/lock")
    return shared if os.access(shared, os.W_OK) else Path("/tmp")  # noqa: S108
