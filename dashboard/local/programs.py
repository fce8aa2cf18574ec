"""The programs of Compilewatch on one machine, in the order in which they start; they stop in
reverse.
"""

import os
import signal
from collections.abc import Mapping
from pathlib import Path

from dashboard.local import project
from dashboard.local.console import COLOURS
from dashboard.local.program import Program

PYTHON = str(project.VENV_PYTHON)
# Celery warns that root runs it. Who runs `make up` as root on their own machine knows that.
CELERY = (
    PYTHON,
    "-W",
    "ignore:You're running the worker",
    "-m",
    "celery",
    "-A",
    "dashboard.celery",
)
SITE_ONLY = ("DATABASE_URL", "SECRET_KEY")  # a benchmark worker holds no password of the site
WEB_STOPS_S = 4


def programs(settings: Mapping[str, str], port: int, measuring: bool = True) -> list[Program]:
    """Web, dashboard worker, scheduler, progress and benchmark worker with `settings` added to our
    own environment.

    measuring: with the benchmark worker.
    """
    environment = {**os.environ, **settings, "PYTHONUNBUFFERED": "1"}
    without_site = {name: value for name, value in environment.items() if name not in SITE_ONLY}
    term, quickly, by_force = signal.SIGTERM, signal.SIGQUIT, signal.SIGKILL
    commands = [
        ("web", _web(port), environment, ((term, WEB_STOPS_S + 1.0), (quickly, 1.0))),
        ("worker", _worker(), environment, ((term, 5.0), (quickly, 3.0))),
        ("scheduler", _scheduler(), environment, ((term, 5.0),)),
        ("progress", (PYTHON, "manage.py", "follow_runs"), environment, ((term, 2.0),)),
        ("benchmarks", (PYTHON, "-m", "runner"), without_site, ((term, 10.0),)),
    ]
    return [
        Program(name, command, env, (*steps, (by_force, 5.0)), colour)
        for (name, command, env, steps), colour in zip(commands, COLOURS, strict=False)
        if measuring or name != "benchmarks"
    ]


def device() -> str:
    """WORKER_DEVICE of the benchmark worker: as given, else the first NVIDIA GPU, else the CPU."""
    return os.environ.get("WORKER_DEVICE") or ("cuda:0" if Path("/dev/nvidia0").exists() else "cpu")


def _web(port: int) -> tuple[str, ...]:
    return (
        PYTHON,
        "-m",
        "gunicorn",
        "--config",
        "python:dashboard.site.web_server",
        "--bind",
        f"127.0.0.1:{port}",
        "--graceful-timeout",
        str(WEB_STOPS_S),
    )


def _worker() -> tuple[str, ...]:
    return (
        *CELERY,
        "--quiet",
        "worker",
        "-Q",
        "dashboard",
        "-n",
        "dashboard@%h",
        "--concurrency",
        "2",
        "--loglevel",
        "info",
        "--without-gossip",
        "--without-mingle",
    )


def _scheduler() -> tuple[str, ...]:
    return (*CELERY, "--quiet", "beat", "--loglevel", "warning", "--pidfile", "")
