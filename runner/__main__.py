"""`python -m runner`: one worker, which owns one device and runs the site's jobs one at a time.

Settings are environment variables: SITE_URL, WORKER_TOKEN, BROKER_URL, WORKER_DIR, WORKER_DEVICE,
SUITE_PYTHON … (all in docs/architecture.md). It stops cleanly on SIGTERM and Ctrl-C: a job that
runs is stopped, handed back and measured again. With --minutes it leaves by itself
(docs/batch-systems.md).

 1. read the settings; make sure that no other worker uses our folder
 2. end what a killed predecessor left behind
 3. look at the environments: torch builds, catalog, GPU; remove those that were half made
 4. deliver what waits in the outbox, say hello, learn our queues; while paused, wait
 5. take jobs from the queues until stopped
"""

import argparse
import math
import os
import signal
import sys
import time
import warnings
from collections.abc import Sequence

import structlog
from celery import signals
from celery.exceptions import SecurityWarning
from kombu.exceptions import OperationalError

from runner import logs, settings
from runner.celery import create_app
from runner.device import DeviceError
from runner.environments.adopted import UnusableEnvironment, adopt, adopt_further
from runner.environments.eviction import clean_up
from runner.outbox import Outbox
from runner.shared_memory import SharedFlag
from runner.site import Greeting, Site
from runner.worker import Worker, end_leftover_jobs
from runner.worker_folder import lock_worker_folder
from runner.worker_heartbeat import WorkerHeartbeat

PREDECESSOR_DIES_S = 10.0
WRONG_SETTINGS = 2
START_ERRORS = (
    settings.SettingsError,
    UnusableEnvironment,
    DeviceError,
    OSError,
)

logger = structlog.get_logger("runner")


def main(arguments: Sequence[str]) -> int:
    """Run the worker; its exit code: 0 when it was stopped, 2 when a setting is wrong."""
    ends_at = time.monotonic() + 60 * _parse(arguments).minutes
    # Before Celery has taken over nothing runs yet that would have to be ended
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        worker_settings = settings.read()
        logs.configure(worker_settings.log_format)
        lock_worker_folder(worker_settings.worker_dir, PREDECESSOR_DIES_S)
        end_leftover_jobs(worker_settings.worker_dir)
        worker = _make_worker(worker_settings, ends_at)
        greeting = wait_while_paused(worker)
    except START_ERRORS as error:
        sys.stderr.write(f"the worker cannot start: {error}\n")
        return WRONG_SETTINGS
    except KeyboardInterrupt:
        return 0
    _take_jobs(worker, greeting)
    end_leftover_jobs(worker_settings.worker_dir)
    logger.info("stopped")
    return 0


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m runner", description="Run one benchmark worker.")
    parser.add_argument(
        "--minutes",
        type=_minutes,
        default=math.inf,
        help="leave after so many minutes, and before them take no job that is expected to take "
        "longer than what is left (default: run until stopped)",
    )
    return parser.parse_args(arguments)


def _minutes(text: str) -> float:
    minutes = float(text)
    if not minutes > 0:
        raise ValueError(text)
    return minutes


def _make_worker(worker_settings: settings.WorkerSettings, ends_at: float) -> Worker:
    stopping = SharedFlag()
    site = Site(worker_settings.site_url, worker_settings.token, stopping)
    environment = adopt(worker_settings)
    further = adopt_further(worker_settings)
    outbox = Outbox(worker_settings.worker_dir)
    worker = Worker(worker_settings, environment, site, outbox, stopping, further, ends_at=ends_at)
    clean_up(worker.store, worker_settings.environments_gb)
    for adopted in worker.adopted:
        logger.info(
            "adopted",
            python=adopted.command[0],
            torch=adopted.label,
            device=str(worker_settings.device),
        )
    return worker


def wait_while_paused(worker: Worker) -> Greeting:
    """Say hello; while a person has paused the worker, wait here.

    A message that a paused worker took would be lost.
    """
    greeting = worker.greet()
    logger.info(
        "the site knows us", worker=greeting.worker, queues=greeting.queues, paused=greeting.paused
    )
    heartbeat = WorkerHeartbeat(worker, greeting.heartbeat_s, consume=lambda on: True)
    heartbeat.paused = greeting.paused
    while heartbeat.paused:
        time.sleep(greeting.heartbeat_s)
        heartbeat.beat()
    return greeting


def _take_jobs(worker: Worker, greeting: Greeting) -> None:
    """Consume our queues until SIGTERM or Ctrl-C."""
    # Celery warns root of pickled messages, which could do harm: we take only JSON
    warnings.simplefilter("ignore", SecurityWarning)
    app = create_app(worker)
    name = f"{greeting.worker}@{os.uname().nodename}"

    def consume(on: bool) -> bool:
        """Start or stop taking messages from our queues; whether the worker confirmed it."""
        change = app.control.add_consumer if on else app.control.cancel_consumer
        try:
            for queue in greeting.queues:
                if not change(queue, destination=[name], reply=True, timeout=5):
                    return False
            return True
        except (OperationalError, OSError) as error:
            logger.warning(
                "could not reach the broker to pause or resume; trying again", why=str(error)
            )
            return False

    _connect_signals(worker, WorkerHeartbeat(worker, greeting.heartbeat_s, consume))
    app.Worker(
        hostname=name,
        queues=greeting.queues,
        pool="prefork",
        concurrency=1,
        loglevel="INFO",
        quiet=True,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    ).start()


def _connect_signals(worker: Worker, heartbeat: WorkerHeartbeat) -> None:
    """Have Celery's signals call us.

    weak=False: Celery would forget a receiver that nothing else refers to.
    """
    # Keeps Celery from replacing our logging
    signals.setup_logging.connect(lambda **_: None, weak=False)
    signals.worker_process_init.connect(lambda **_: worker.begin_process(), weak=False)
    signals.worker_ready.connect(lambda **_: _start(heartbeat), weak=False)
    signals.worker_shutting_down.connect(lambda **_: worker.stopping.set(), weak=False)


def _start(heartbeat: WorkerHeartbeat) -> None:
    # On SIGHUP Celery would restart itself, wrongly
    signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
    heartbeat.start()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
