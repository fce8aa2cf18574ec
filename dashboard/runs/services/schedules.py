"""Schedules: what they trigger, and the django-celery-beat entries that say when."""

from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import structlog
from celery.schedules import crontab
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone
from django_celery_beat.models import CrontabSchedule, IntervalSchedule, PeriodicTask

from dashboard.catalog.core.pins import needs_bridge
from dashboard.catalog.core.plan import PlanError
from dashboard.models import Job, JobState, Machine, Purpose, Run, Schedule, TorchBuild, Track
from dashboard.runs.core.timing import Timing
from dashboard.runs.services.environments import libraries_of
from dashboard.runs.services.partitions import ensure_partitions
from dashboard.runs.services.run_state import is_over
from dashboard.runs.services.runs import trigger_run
from dashboard.runs.services.tracks import MeasuredEnough, check_repeats, resolve

TRIGGER = "dashboard.tasks.trigger_schedule"
NIGHTLY = time(3)
MOST_OFTEN = timedelta(minutes=1)  # no crontab is due twice within

logger = structlog.get_logger(__name__)


class TriggeredJustNow(PlanError):
    """The schedule was due once and was triggered twice; nothing is wrong."""


def save_schedule(*, schedule: Schedule, timing: Timing | None = None) -> None:
    """Save a schedule and its beat entry. timing: when it runs from now on; None: as it did."""
    with transaction.atomic():
        if timing is not None:
            schedule.crontab = _keep_timing(schedule, timing)
        schedule.save()
        schedule.periodic_task, _ = PeriodicTask.objects.update_or_create(
            name=f"Schedule {schedule.pk}",
            defaults={
                "task": TRIGGER,
                "args": f"[{schedule.pk}]",
                "crontab": schedule.crontab,
                "enabled": schedule.enabled,
                "description": f"Triggers the runs of {schedule.name}. Change it under Schedules.",
            },
        )
        schedule.save(update_fields=["periodic_task"])


def _keep_timing(schedule: Schedule, timing: Timing) -> CrontabSchedule:
    """Write the timing into the schedule's beat row; into a new one where the row is not its own.

    The site's upkeep and other schedules never change with it.
    """
    row = CrontabSchedule()
    if schedule.crontab_id and not _is_shared(schedule):
        row = schedule.crontab
    for name, value in timing.crontab.items():
        setattr(row, name, value)
    row.timezone = ZoneInfo(timing.zone)
    row.save()
    return row


def _is_shared(schedule: Schedule) -> bool:
    """Test whether another schedule, or any other beat entry, runs by the same row."""
    tasks = PeriodicTask.objects.filter(crontab=schedule.crontab_id)
    schedules = Schedule.objects.filter(crontab=schedule.crontab_id)
    return (
        tasks.exclude(pk=schedule.periodic_task_id).exists()
        or schedules.exclude(pk=schedule.pk).exists()
    )


def delete_schedule(*, schedule: Schedule) -> None:
    """Delete a schedule, its beat entry and its own beat row; its runs stay."""
    with transaction.atomic():
        task = schedule.periodic_task
        own_row = None if _is_shared(schedule) else schedule.crontab
        schedule.delete()
        if task is not None:
            task.delete()
        if own_row is not None:
            own_row.delete()


def run_schedule(*, schedule_id: int) -> Run | None:
    """Trigger the run of a schedule that is due.

    None where that cannot be; `problem` keeps the reason.
    """
    schedules = Schedule.objects.select_related("track__build", "machine")
    schedule = schedules.filter(pk=schedule_id, enabled=True).first()
    if schedule is None:
        return None
    try:
        run, problem = trigger_now(schedule=schedule), ""
    except TriggeredJustNow:
        return None
    except MeasuredEnough as reason:
        run, problem = None, str(reason)
    except PlanError as error:
        run, problem = None, str(error)
        logger.warning("schedule triggered nothing", schedule=schedule.name, why=problem)
    Schedule.objects.filter(pk=schedule_id).update(problem=problem)
    return run


def trigger_now(*, schedule: Schedule, user: AbstractBaseUser | None = None) -> Run:
    """Trigger a schedule's run. user: who asks for it. Raises PlanError: why it cannot be.

    The schedule's row is locked: of two who trigger it at once, as two schedulers do, the second
    finds the run of the first.
    """
    now = timezone.now()
    build = resolve(track=schedule.track, now=now)
    ensure_partitions(moments=[now])  # before the transaction: it locks the whole data table
    with transaction.atomic():
        Schedule.objects.select_for_update().get(pk=schedule.pk)
        _require_ended(schedule, now)
        check_repeats(schedule=schedule, build=build)
        run = trigger_run(
            build=build.label,
            track=schedule.track.key,
            purpose=Purpose.SCHEDULED,
            label=schedule.name,
            schedule=schedule,
            user=user,
            **_selection(schedule),
        )
    trigger_bridge(schedule, build)
    return run


def _require_ended(schedule: Schedule, now: datetime) -> None:
    """Raise PlanError while the schedule's last run has not ended."""
    earlier = schedule.runs.order_by("-created_at").first()
    if earlier is None or is_over(earlier.state):
        return
    problem = (
        f"Run {earlier.pk} of this schedule has not ended: cancel it, or measure less, or "
        "less often."
    )
    if earlier.created_at > now - MOST_OFTEN:
        raise TriggeredJustNow(problem)
    raise PlanError(problem)


def trigger_bridge(schedule: Schedule, build: TorchBuild) -> Run | None:
    """Also measure the build under the last scheduled run's libraries, where its own differ.

    So a step in the numbers can be distinguished from a step in the libraries. None where nothing
    changed, or where it is not known under which libraries the last run was: it ran in an adopted
    interpreter.
    """
    jobs_with_libraries = Job.objects.filter(
        run__schedule=schedule, requirements__isnull=False, state=JobState.DONE
    )
    newest_first = jobs_with_libraries.select_related("requirements").order_by("-run__created_at")
    last = newest_first.first()
    if last is None or last.requirements is None:
        return None
    own = libraries_of(build=build, requested={})
    if not own or not needs_bridge(last.requirements.libraries, own):
        return None
    return trigger_run(
        build=build.label,
        track=schedule.track.key,
        purpose=Purpose.CONFIRMATION,
        label=f"{schedule.name}: under the libraries of before",
        libraries=last.requirements.libraries,
        **_selection(schedule),
    )


def _selection(schedule: Schedule) -> dict[str, Any]:
    """Return what a schedule measures, as trigger_run takes it."""
    return {
        "machine": schedule.machine.key,
        "families": schedule.families,
        "benchmarks": list(schedule.benchmarks.values_list("name", flat=True)),
        "configs": list(schedule.configs.values_list("name", flat=True)),
    }


def ensure_nightly(*, machine: Machine, track: Track) -> Schedule:
    """The default schedule of a machine: every night, the default selection.

    What a person changed in it stays.
    """
    existing = Schedule.objects.filter(machine=machine, track=track).first()
    if existing is not None:
        return existing
    schedule = Schedule(
        name=f"Nightly on {machine.key}",
        machine=machine,
        track=track,
    )
    save_schedule(schedule=schedule, timing=Timing(settings.TIME_ZONE, at=NIGHTLY))
    return schedule


def ensure_system_tasks() -> None:
    """The site's own beat entries (settings.BEAT_SCHEDULE); what a person changed in them stays."""
    existing = set(PeriodicTask.objects.values_list("name", flat=True))
    for name, (task, when) in settings.BEAT_SCHEDULE.items():
        if name in existing:
            continue
        if isinstance(when, crontab):
            timing = {"crontab": _upkeep_crontab(when)}
        else:
            every, _ = IntervalSchedule.objects.get_or_create(
                every=when, period=IntervalSchedule.SECONDS
            )
            # They expire, so that they do not pile up while no worker runs
            timing = {"interval": every, "expire_seconds": when}
        PeriodicTask.objects.create(name=name, task=task, **timing)


def _upkeep_crontab(when: crontab) -> CrontabSchedule:
    """A beat row of its own, in the site's time zone: no schedule changes with it."""
    return CrontabSchedule.objects.create(
        hour=str(when._orig_hour),
        minute=str(when._orig_minute),
        timezone=str(settings.TIME_ZONE),
    )
