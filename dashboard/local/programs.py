"""The programs of Compilewatch on one machine, in the order in which they start."""

import os
import signal
from collections.abc import Mapping
from pathlib import Path

from dashboard.local import project
from dashboard.local.console import COLOURS
from dashboard.local.supervised_program import Program

PYTHON = str(project.VENV_PYTHON)
# Celery warns that root runs it. Who runs `make up` as root on their own machine knows that.
WITHOUT_WARNING = ("-W", "ignore:You're running the worker")
CELERY = (PYTHON, *WITHOUT_WARNING, "-m", "celery", "-A", "dashboard.celery")
SITE_ONLY = ("DATABASE_URL", "SECRET_KEY")  # a benchmark worker holds no password of the site
WEB_STOP_S = 4


def programs(settings: Mapping[str, str], port: int, measuring: bool = True) -> list[Program]:
    """Web, dashboard worker, scheduler, progress and, if `measuring`, the benchmark worker.

    settings: added to our own environment.
    """
    environment = {**os.environ, **settings, "PYTHONUNBUFFERED": "1"}
    without_site = {name: value for name, value in environment.items() if name not in SITE_ONLY}
    term, quit_ = signal.SIGTERM, signal.SIGQUIT
    rows = [
        ("web", _web(port), environment, ((term, WEB_STOP_S + 1.0), (quit_, 1.0))),
        ("worker", _worker(), environment, ((term, 5.0), (quit_, 3.0))),
        ("scheduler", _scheduler(), environment, ((term, 5.0),)),
        ("progress", (PYTHON, "manage.py", "follow_runs"), environment, ((term, 2.0),)),
    ]
    if measuring:
        rows.append(("benchmarks", (PYTHON, "-m", "runner"), without_site, ((term, 10.0),)))
    by_force = (signal.SIGKILL, 5.0)
    return [
        Program(name, command, env, (*steps, by_force), colour)
        for (name, command, env, steps), colour in zip(rows, COLOURS, strict=False)
    ]


def device() -> str:
    """WORKER_DEVICE of the benchmark worker: as given, else the first NVIDIA GPU, else the CPU."""
    default = "cuda:0" if Path("/dev/nvidia0").exists() else "cpu"
    return os.environ.get("WORKER_DEVICE") or default


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
        str(WEB_STOP_S),
    )


def _worker() -> tuple[str, ...]:
    queues = ("--queues", "dashboard", "--hostname", "dashboard@%h", "--concurrency", "2")
    logging = ("--loglevel", "info", "--without-gossip", "--without-mingle")
    return (*CELERY, "--quiet", "worker", *queues, *logging)


def _scheduler() -> tuple[str, ...]:
    return (*CELERY, "--quiet", "beat", "--loglevel", "warning", "--pidfile", "")
