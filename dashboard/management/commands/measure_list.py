"""manage.py measure_list: measure a list of jobs and write their result files."""

import json
import time
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from dashboard.catalog.core.plan import PlanError
from dashboard.language.wording import plural
from dashboard.management.site_command import SiteCommand
from dashboard.models import Job, Machine, Run, Track
from dashboard.results.selectors.result_files import result_file
from dashboard.runs.core.job_lists import ListedJob, parse
from dashboard.runs.selectors.runs import ACTIVE
from dashboard.runs.services.lists import trigger_list
from dashboard.runs.services.runs import cancel_run

WORKER_PATIENCE_S = 300  # its first import of torch from a cold disk takes minutes
LOOK_EVERY_S = 0.5
OVER = "Cancelled: the minutes that were given to its list (--minutes) were over."


class Command(SiteCommand):
    help = (
        "Measure a list of jobs (as of `benchmarks_suite batch`) and write each result file "
        "into a folder as soon as its job ends. A line whose result is there is not measured "
        "again, so that it can be run again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("list", type=Path, help="JSON Lines: one job a line, ordered by value")
        parser.add_argument(
            "out", type=Path, help="folder of the result files, which import_results takes in"
        )
        parser.add_argument(
            "--machine", default="", help="key of the machine; else that of the only worker"
        )
        parser.add_argument(
            "--track", default="local", help="key of the track of their series (local)"
        )
        parser.add_argument(
            "--build", default="", help="label of the build; else the one at which the track stands"
        )
        parser.add_argument(
            "--minutes",
            type=float,
            default=float("inf"),
            help="cancel what is left after this long",
        )

    def handle(self, **options: Any) -> None:
        deadline = time.monotonic() + options["minutes"] * 60
        out = options["out"]
        out.mkdir(parents=True, exist_ok=True)
        try:
            lines = [line for line in read(options["list"]) if not path_of(line, out).exists()]
            machine = options["machine"] or the_machine(deadline)
            build = options["build"] or standing_at(options["track"])
            jobs = trigger_list(
                lines=lines, machine=machine, track=options["track"], build=build, label="List"
            )
        except PlanError as error:
            raise CommandError(str(error)) from None
        written = self.follow(list(zip(lines, jobs, strict=True)), out, deadline)
        self.stdout.write(f"{written} of {plural(len(lines), 'result')} written to {out}")
        if written < len(lines):
            raise CommandError("The others are listed above; the same command measures them again.")

    def follow(self, waiting: list[tuple[ListedJob, Job]], out: Path, deadline: float) -> int:
        """Write what ends until all has ended or the time is over; how many results there were."""
        written = 0
        while waiting:
            if time.monotonic() > deadline:
                jobs = [job.pk for _, job in waiting]
                for run in Run.objects.filter(jobs__in=jobs).distinct():
                    cancel_run(run=run, why=OVER)
            time.sleep(LOOK_EVERY_S)
            active = set(Job.objects.filter(state__in=ACTIVE).values_list("pk", flat=True))
            ended = [(line, job) for line, job in waiting if job.pk not in active]
            waiting = [(line, job) for line, job in waiting if job.pk in active]
            written += sum(self.write(line, job, out) for line, job in ended)
        return written

    def write(self, line: ListedJob, job: Job, out: Path) -> bool:
        """Write the result file of a job that ended, or why it has none; whether it has one."""
        document = result_file(job.pk)
        if document is None:
            job.refresh_from_db()
            self.stderr.write(f"{line.name}: no result: {job.status or job.state}: {job.message}")
            return False
        unfinished = path_of(line, out).with_suffix(".unfinished")
        unfinished.write_text(json.dumps(document))
        unfinished.replace(path_of(line, out))
        return True


def read(path: Path) -> list[ListedJob]:
    """Raises PlanError naming the line, CommandError naming the file."""
    try:
        return parse(path.read_text())
    except OSError as error:
        raise CommandError(f"The list {path} cannot be read: {error.strerror}.") from None


def path_of(line: ListedJob, out: Path) -> Path:
    return out / f"{line.name}.json"


def the_machine(deadline: float) -> str:
    """The key of the machine whose worker has said hello. Raises CommandError: none, or several."""
    give_up = min(deadline, time.monotonic() + WORKER_PATIENCE_S)
    with_workers = Machine.objects.filter(workers__boot_id__gt="").distinct()
    while not (keys := list(with_workers.values_list("key", flat=True))):
        if time.monotonic() > give_up:
            raise CommandError("No worker has said hello: start one, and look at its log.")
        time.sleep(LOOK_EVERY_S)
    if len(keys) > 1:
        raise CommandError(
            f"There are workers on several machines: name one with --machine ({', '.join(keys)})."
        )
    return keys[0]


def standing_at(track: str) -> str:
    """The label of the build at which a track stands. Raises CommandError."""
    row = Track.objects.filter(key=track).select_related("build").first()
    if row is None or row.build is None:
        raise CommandError(f"Track {track!r} stands at no build: name one with --build.")
    return row.build.label
