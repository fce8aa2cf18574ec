"""The site alone, as gunicorn serves it in production, with its own process and database."""

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.builders.local_site import ROOT, free_port

OWN = ("DATABASE_URL", "BROKER_URL", "SITE_URL", "DJANGO_SETTINGS_MODULE")
CONFIG = "python:dashboard.site.web_server"


class WebProcess:
    """A running web server and a `client` for it."""

    def __init__(self, var: Path, database_url: str) -> None:
        address = f"127.0.0.1:{free_port()}"
        self.client = httpx.Client(
            base_url=f"http://{address}",
            trust_env=False,
            timeout=60,
        )
        inherited = {name: value for name, value in os.environ.items() if name not in OWN}
        environment = {
            **inherited,
            "VAR_DIR": str(var),
            "DATABASE_URL": database_url,
            "BROKER_URL": f"redis+socket://{var}/nobody",
            "SECRET_KEY": secrets.token_hex(32),
            "PUBLIC_READ": "true",
        }
        for command in ("migrate", "collectstatic"):
            prepare = [sys.executable, "manage.py", command, "--no-input", "--verbosity", "0"]
            subprocess.run(prepare, cwd=ROOT, env=environment, check=True)
        serve = [sys.executable, "-m", "gunicorn", "--bind", address, "--config", CONFIG]
        self._process = subprocess.Popen(serve, cwd=ROOT, env=environment)

    def is_running(self) -> bool:
        return self._process.poll() is None

    def wait_until(self, address: str, status: int, seconds: float = 120) -> httpx.Response:
        """The first response with this status; fails when there is none in time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.is_running():
            try:
                response = self.client.get(address)
                if response.status_code == status:
                    return response
            except httpx.TransportError:
                pass  # not up yet
            time.sleep(0.2)
        raise AssertionError(f"{address} did not answer {status} within {seconds} s")

    def stop(self) -> None:
        self.client.close()
        self._process.terminate()
        self._process.wait(timeout=60)


@contextmanager
def web_process(var: Path, database_url: str) -> Iterator[WebProcess]:
    web = WebProcess(var, database_url)
    try:
        web.wait_until("/healthz", 200)
        yield web
    finally:
        web.stop()
