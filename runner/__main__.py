"""`python -m runner`: one worker, which owns one device and runs the site's jobs on it, one at a
time.

Settings are environment variables: SITE_URL, WORKER_TOKEN, BROKER_URL, WORKER_DIR, WORKER_DEVICE,
SUITE_PYTHON … (all in docs/architecture.md). It stops cleanly on SIGTERM and Ctrl-C: a job that
runs is stopped and measured again.

 1. read the settings; make sure that no other worker uses our folder
 2. end what a killed predecessor left behind
 3. look at the environments: torch builds, catalog, GPU; remove those that were half made
 4. deliver what waits in the outbox, say hello, learn our queue; while paused, wait
 5. take jobs from the queue until told to stop
"""

import os
import signal
import sys
import time
import warnings
from types import FrameType

import structlog
from celery import Celery, signals
from celery.exceptions import SecurityWarning
from kombu.exceptions import OperationalError

from runner import environments, folder, gpu, logs, settings
from runner.celery import create_app
from runner.environments.room import tidy
from runner.keeper import Keeper
from runner.outbox import Outbox
from runner.shared import Flag
from runner.site import Greeting, Site
from runner.worker import Worker, end_leftovers

PREDECESSOR_DIES_S = 10.0
WRONG_SETTINGS = 2

logger = structlog.get_logger("runner")


def main() -> int:
    """Run the worker; its exit code: 0 when it was told to stop, 2 when a setting is wrong."""
    signal.signal(signal.SIGTERM, _stop_now)
    try:
        ours = settings.read()
        logs.configure(ours.log_format)
        folder.hold(ours.worker_dir, PREDECESSOR_DIES_S)
        end_leftovers(ours.worker_dir)
        worker = _make_worker(ours)
        greeting = wait_until_wanted(worker)
    except (
        settings.SettingsError,
        environments.UnfitEnvironment,
        gpu.DeviceError,
        OSError,
    ) as error:
        sys.stderr.write(f"the worker cannot start: {error}\n")
        return WRONG_SETTINGS
    except KeyboardInterrupt:
        return 0
    _take_jobs(worker, greeting)
    end_leftovers(ours.worker_dir)
    logger.info("stopped")
    return 0


def _stop_now(number: int, frame: FrameType | None) -> None:
    """SIGTERM before Celery has taken over: nothing runs yet that would have to be ended."""
    sys.exit(0)


def _make_worker(ours: settings.Settings) -> Worker:
    stopping = Flag()
    site = Site(ours.site_url, ours.token, stopping)
    environment = environments.adopt(ours)
    further = environments.adopt_also(ours)
    worker = Worker(ours, environment, site, Outbox(ours.worker_dir), stopping, further)
    tidy(worker.store, ours.environments_gb)
    for each in worker.adopted:
        logger.info("adopted", python=each.command[0], torch=each.label, device=str(ours.device))
    return worker


def wait_until_wanted(worker: Worker) -> Greeting:
    """Say hello; while a person has paused the worker, stay here: a message that it took would be
    lost.
    """
    greeting = worker.greet()
    logger.info(
        "the site knows us", worker=greeting.worker, queue=greeting.queue, paused=greeting.paused
    )
    keeper = Keeper(worker, greeting.heartbeat_s, consume=lambda on: True)
    keeper.paused = greeting.paused
    while keeper.paused:
        time.sleep(greeting.heartbeat_s)
        keeper.beat()
    return greeting


def _take_jobs(worker: Worker, greeting: Greeting) -> None:
    """Consume our queue until SIGTERM or Ctrl-C."""
    # Of root, whom pickled messages could harm: we take JSON alone
    warnings.simplefilter("ignore", SecurityWarning)
    app = create_app(worker)
    name = f"{greeting.worker}@{os.uname().nodename}"
    keeper = Keeper(
        worker, greeting.heartbeat_s, lambda on: _consume(app, name, greeting.queue, on)
    )
    _connect(worker, keeper)
    app.Worker(
        hostname=name,
        queues=[greeting.queue],
        pool="prefork",
        concurrency=1,
        loglevel="INFO",
        quiet=True,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    ).start()


def _connect(worker: Worker, keeper: Keeper) -> None:
    """Have Celery's signals call us. weak=False: Celery would forget a receiver that nothing else
    refers to.
    """
    # Keeps Celery from replacing our logging
    signals.setup_logging.connect(lambda **_: None, weak=False)
    signals.worker_process_init.connect(lambda **_: worker.begin_process(), weak=False)
    signals.worker_ready.connect(lambda **_: _ready(keeper), weak=False)
    signals.worker_shutting_down.connect(lambda **_: worker.stopping.set(), weak=False)


def _ready(keeper: Keeper) -> None:
    # Celery would start anew, wrongly
    signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
    keeper.start()


def _consume(app: Celery, name: str, queue: str, on: bool) -> bool:
    """Start or stop taking messages from our queue; whether the worker has answered that it does
    so.
    """
    change = app.control.add_consumer if on else app.control.cancel_consumer
    try:
        return bool(change(queue, destination=[name], reply=True, timeout=5))
    except (OperationalError, OSError) as error:
        logger.warning(
            "could not reach the broker to pause or resume; trying again", why=str(error)
        )
        return False


if __name__ == "__main__":
    sys.exit(main())
