"""Triggering, cancelling and retrying runs."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from operator import attrgetter

from django.contrib.auth.models import AbstractBaseUser
from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from dashboard.catalog.core.plan import (
    CHECKED_CONFIG,
    BenchmarkFacts,
    Case,
    PlanError,
    Selection,
    accuracy_cases,
    job_file,
    plan_cases,
)
from dashboard.catalog.selectors.lookups import find_build, find_machine, find_track
from dashboard.language.contracts import Document
from dashboard.models import Benchmark, Config, Job, JobState, Purpose, Run, Schedule
from dashboard.runs.selectors.runs import ACTIVE, RETRYABLE
from dashboard.runs.services.dispatch import assign_queue_order, dispatch
from dashboard.runs.services.partitions import ensure_partitions
from dashboard.runs.services.run_state import refresh_runs

ACCURACY_ONLY = {"accuracy_only": True, "starts": [], "keep_code": False}  # `measure` of a job
MANY_JOBS = 1000  # of one run, by which Postgres's statistics of the jobs are out of date
ATTEMPTS = 3  # of a job, before it is lost; and again with each retry


def trigger_run(  # noqa: PLR0913 - each is one thing that a person may ask for
    *,
    build: str,
    machine: str,
    track: str,
    families: Sequence[str] = (),
    benchmarks: Sequence[str] = (),
    configs: Sequence[str] = (),
    purpose: str = Purpose.MANUAL,
    user: AbstractBaseUser | None = None,
    schedule: Schedule | None = None,
    measure: Document | None = None,
    libraries: Mapping[str, str] | None = None,
    label: str = "",
    planned_at: datetime | None = None,
) -> Run:
    """Make a run and its jobs, and send the jobs' messages once the transaction is through.

    build, machine, track: label and keys.
    families, benchmarks, configs: names; all empty: the default selection of the machine's size.
    measure: `measure` of the job file.
    libraries: name -> version; none: the newest that the build takes.
    planned_at: none: now.
    Raises PlanError, naming what is wrong and what there is.
    """
    measure = measure or {}
    selection = Selection(tuple(families), tuple(benchmarks), tuple(configs))
    run = Run(
        build=find_build(build),
        machine=find_machine(machine),
        track=find_track(track),
        purpose=Purpose(purpose),
        schedule=schedule,
        label=label,
        created_by_id=user.pk if user else None,
        request={**selection.names(), "measure": measure},
        libraries=dict(libraries or {}),
    )
    cases = plan_run(machine=machine, selection=selection, check_training=True)
    jobs = plan_jobs(run, cases, planned_at=planned_at or timezone.now(), measure=measure)
    _save(run, jobs)
    return run


def _save(run: Run, jobs: Sequence[Job]) -> None:
    ensure_partitions(moments=[jobs[0].planned_at])
    with transaction.atomic():
        run.save()
        Job.objects.bulk_create(assign_queue_order(jobs), batch_size=500)
        if len(jobs) >= MANY_JOBS:
            transaction.on_commit(_analyze_jobs)
        transaction.on_commit(partial(dispatch, machine_id=run.machine_id))


def _analyze_jobs() -> None:
    """Have Postgres count the jobs now: until it does so by itself, each claim costs several times
    as much.
    """
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE dashboard_job")


def plan_run(*, machine: str, selection: Selection, check_training: bool = False) -> list[Case]:
    """The cases of a selection. Raises PlanError.

    check_training: also those of which a default run checks the accuracy alone (trigger_run).
    """
    fields = ("name", "family", "size", "default_configs", "mode", "machines")
    available = []
    for row in Benchmark.objects.filter(retired=False).values_list(*fields):
        name, family, size, default_configs, mode, machines = row
        if not machines or machine in machines:
            available.append(BenchmarkFacts(name, family, size, tuple(default_configs), mode))
        elif name in selection.benchmarks:
            raise PlanError(
                f"{name} is an own model that only workers of {', '.join(machines)} have."
            )
    configs = Config.objects.filter(retired=False).values_list("name", flat=True)
    size = find_machine(machine).default_size
    cases = plan_cases(selection, available, list(configs), size)
    if check_training and CHECKED_CONFIG in configs:
        cases += accuracy_cases(selection, available, size)
    return cases


def plan_jobs(
    run: Run, cases: Sequence[Case], *, planned_at: datetime, measure: Document
) -> list[Job]:
    """The run's jobs, not saved."""
    benchmarks = Benchmark.objects.select_related("repository").in_bulk(
        {case.benchmark for case in cases}, field_name="name"
    )
    configs = Config.objects.in_bulk({case.config for case in cases}, field_name="name")
    jobs = []
    for position, case in enumerate(cases):
        benchmark, config = benchmarks[case.benchmark], configs[case.config]
        how = {**measure, **ACCURACY_ONLY} if case.accuracy_only else measure
        jobs.append(plan_job(run, position, benchmark, config, planned_at, how))
    return jobs


def plan_job(
    run: Run,
    position: int,
    benchmark: Benchmark,
    config: Config,
    planned_at: datetime,
    measure: Document,
    timeout_s: float | None = None,
) -> Job:
    """A job of the run, not saved. timeout_s: none: the machine's."""
    job_id, pinned, repository = uuid.uuid4(), benchmark.repository, None
    if pinned:
        repository = {"url": pinned.url, "commit": pinned.commit, "revision": pinned.revision}
    spec = job_file(
        job_id=str(job_id),
        case=Case(benchmark.name, config.name),
        device=run.machine.device_kind,
        build=run.build.label,
        purpose=run.purpose,
        planned_at=planned_at,
        measure=measure,
        timeout_s=timeout_s or run.machine.timeout_s,
        variant=run.build.variant,
        repository=repository,
    )
    return Job(
        uuid=job_id,
        run=run,
        benchmark=benchmark,
        config=config,
        position=position,
        spec=spec,
        planned_at=planned_at,
        max_attempts=ATTEMPTS,
    )


def cancel_run(*, run: Run, why: str = "Cancelled by a person.") -> int:
    """Cancel the jobs that have not ended; how many. Their pages say `why`.

    A worker that has one learns it with its next heartbeat.
    """
    with transaction.atomic():
        active = Job.objects.filter(run=run, state__in=ACTIVE).select_for_update().order_by("pk")
        ids = [job.pk for job in active]
        Job.objects.filter(pk__in=ids).update(
            state=JobState.CANCELLED,
            message=why,
            finished_at=timezone.now(),
            lease_until=None,
        )
        refresh_runs(run_ids=[run.pk])
    run.refresh_from_db()
    return len(ids)


def retry_failed_jobs(*, run: Run) -> int:
    """Queue the jobs again that brought no result, under a new attempt; how many.

    What they reported before is kept until they report something new.
    """
    with transaction.atomic():
        retryable = Job.objects.filter(run=run, state__in=RETRYABLE)
        failed = list(retryable.select_for_update().order_by("pk"))
        in_order = sorted(failed, key=attrgetter("position"))
        Job.objects.bulk_update(assign_queue_order(in_order), ["turn"], batch_size=500)
        Job.objects.filter(pk__in=[job.pk for job in failed]).update(
            state=JobState.QUEUED,
            status="",
            message="",
            phase="",
            log_tail="",
            attempt=F("attempt") + 1,
            max_attempts=F("attempt") + ATTEMPTS,
            worker=None,
            dispatched_at=None,
            claimed_at=None,
            lease_until=None,
            finished_at=None,
        )
        refresh_runs(run_ids=[run.pk])
        transaction.on_commit(partial(dispatch, machine_id=run.machine_id))
    run.refresh_from_db()
    return len(failed)
