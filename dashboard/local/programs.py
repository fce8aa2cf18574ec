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
QUEUES = ("--queues", "dashboard", "--hostname", "dashboard@%h", "--concurrency", "2")
LOGGING = ("--loglevel", "info", "--without-gossip", "--without-mingle")
WORKER = (*CELERY, "--quiet", "worker", *QUEUES, *LOGGING)
SCHEDULER = (*CELERY, "--quiet", "beat", "--loglevel", "warning", "--pidfile", "")
SITE_ONLY = ("DATABASE_URL", "SECRET_KEY")  # a benchmark worker holds no password of the site
WEB_STOP_S = 4


def programs(settings: Mapping[str, str], port: int, measuring: bool = True) -> list[Program]:
    """Web, dashboard worker, scheduler and, if `measuring`, the benchmark worker.

    settings: added to our own environment.
    """
    environment = {**os.environ, **settings, "PYTHONUNBUFFERED": "1"}
    without_site = {name: value for name, value in environment.items() if name not in SITE_ONLY}
    term, quit_ = signal.SIGTERM, signal.SIGQUIT
    configuration = ("--config", "python:dashboard.site.web_server")
    binding = ("--bind", f"127.0.0.1:{port}", "--graceful-timeout", str(WEB_STOP_S))
    web = (PYTHON, "-m", "gunicorn", *configuration, *binding)
    rows = [
        ("web", web, environment, ((term, WEB_STOP_S + 1.0), (quit_, 1.0))),
        ("worker", WORKER, environment, ((term, 5.0), (quit_, 3.0))),
        ("scheduler", SCHEDULER, {**environment, "PRINT_PROGRESS": "on"}, ((term, 5.0),)),
    ]
    if measuring:
        rows.append(("benchmarks", (PYTHON, "-m", "runner"), without_site, ((term, 10.0),)))
    by_force = (signal.SIGKILL, 5.0)
    supervised = []
    for (name, command, env, steps), colour in zip(rows, COLOURS, strict=False):
        # At SIGTERM either waits for its database or broker, which may be gone or hang. They hold
        # nothing: an unfinished task is delivered again.
        at_once = name in ("scheduler", "worker")
        death_signal = signal.SIGKILL if at_once else signal.SIGTERM
        supervised.append(Program(name, command, env, (*steps, by_force), colour, death_signal))
    return supervised


def device() -> str:
    """WORKER_DEVICE of the benchmark worker: as given, else the first NVIDIA GPU, else the CPU."""
    default = "cuda:0" if Path("/dev/nvidia0").exists() else "cpu"
    return os.environ.get("WORKER_DEVICE") or default
