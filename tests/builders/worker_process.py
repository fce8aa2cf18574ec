"""A whole worker: `python -m runner` as a process, with the fake suite as its interpreter."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
from celery import Celery

from runner.celery import transport_options
from tests.builders import worker_suite
from tests.builders.site_server import TOKEN, SiteServer
from tests.builders.waiting import wait_for


class WorkerProcess:
    """A worker whose folder, log and the pids of its suite's children are in `home`.

    It can be started again.
    """

    def __init__(
        self,
        home: Path,
        site: SiteServer,
        broker_url: str,
        sent_from: str = "",
    ) -> None:
        """sent_from: the broker's address with the site's account, where it has its own."""
        self.home, self.site = home, site
        self.log = home / "worker.log"
        interpreter = home / "python"
        interpreter.write_text(f'#!/bin/sh\nexec {sys.executable} {worker_suite.__file__} "$@"\n')
        interpreter.chmod(0o755)
        self._environment = {
            **os.environ,
            "SITE_URL": site.url,
            "WORKER_TOKEN": TOKEN,
            "BROKER_URL": broker_url,
            "HOME": str(home),
            "LOG_FORMAT": "json",
            "TMPDIR": str(home),
            "WORKER_DIR": str(home / "worker"),
            "WORKER_LOCK_DIR": str(home),
            "SUITE_PYTHON": str(interpreter),
        }
        self._sender = Celery("sender", broker=sent_from or broker_url)
        self._sender.conf.task_queue_max_priority = 9
        self._sender.conf.broker_transport_options = transport_options(broker_url)

    def start(self, *arguments: str, **environment: str) -> None:
        """Start it, and wait until it takes messages or has ended."""
        self.log.touch()
        log_start = len(self.log.read_text())
        with self.log.open("a") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "runner", *arguments],
                env={**self._environment, **environment},
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

        def is_ready() -> bool:
            return " ready." in self.log.read_text()[log_start:]

        wait_for(lambda: is_ready() or self.process.poll() is not None)

    def is_running(self) -> bool:
        return hasattr(self, "process") and self.process.poll() is None

    def wait_for_log(self, text: str) -> None:
        """Wait until its log holds `text`."""
        wait_for(lambda: text in self.log.read_text())

    def send(self, job_id: str, attempt: int = 1, queue: str = "machine.cpu") -> None:
        """Put the message of a job into a queue of the worker, as the site does."""
        self._sender.send_task("runner.run_job", [job_id, attempt], queue=queue)

    def wait_for_sampling(self, job_id: str) -> None:
        """Wait until the job's suite reports that it is sampling."""
        wait_for(self.site.jobs[job_id].is_sampling)

    def job_process(self) -> psutil.Process:
        """The forked process that runs the jobs."""
        children = psutil.Process(self.process.pid).children()
        return next(child for child in children if child.status() != psutil.STATUS_ZOMBIE)

    def suite_processes(self) -> list[psutil.Process]:
        return processes_of_jobs_in(self.home)

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait()

    def clean_up(self) -> None:
        self._sender.close()
        if self.is_running():
            self.kill()
        for process in self.suite_processes():
            process.kill()


def processes_of_jobs_in(home: Path) -> list[psutil.Process]:
    """Every living process of a job whose HOME is `home`, wherever it went."""
    processes = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            variables = process.environ()
            if "COMPILEWATCH_JOB" in variables and variables.get("HOME") == str(home):
                processes.append(process)
    return processes
