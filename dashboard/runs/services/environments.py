"""Environments: what a job's is made from, and what the workers report of those they have."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from dashboard.catalog.core.pins import (
    PinError,
    family_libraries,
    newest_set,
    pinned_line,
    requirement_lines,
)
from dashboard.catalog.services.builds import fill_in_facts
from dashboard.language.contracts import Refused
from dashboard.models import InstalledEnvironment, Job, JobState, Requirements, TorchBuild, Worker
from dashboard.runs.services.leases import Stale, find_job, is_held, why_stale

MAX_CHARACTERS = 100_000
REPORTED_FIELDS = ("libraries", "state", "adopted", "message", "size_mb", "last_used")
State = InstalledEnvironment.State


def base_of(build: TorchBuild) -> TorchBuild:
    """The build whose environment this one runs in: of a variant its base, else itself."""
    return build.base or build


def libraries_of(*, build: TorchBuild, requested: Mapping[str, str]) -> dict[str, str]:
    """The libraries of an environment: what was asked for, else the newest that the build takes.

    Empty for a build of which the table of pins knows nothing.
    """
    if requested:
        return dict(requested)
    try:
        return newest_set(build.version)
    except PinError:
        return {}


def needed_libraries(*, job: Job) -> dict[str, str]:
    """List what the job's environment must have: what its run asks for, and its model needs."""
    build = base_of(job.run.build)
    try:
        of_family = family_libraries(build.version, job.benchmark.family)
    except PinError:
        of_family = {}
    return {**of_family, **job.run.libraries}


def _libraries_of_job(job: Job) -> dict[str, str]:
    """All libraries that its environment is made from."""
    libraries = libraries_of(build=base_of(job.run.build), requested=job.run.libraries)
    return {**libraries, **needed_libraries(job=job)}


def environment_for(*, job: Job, worker: Worker) -> dict[str, Any]:
    """The `environment` of a claim's answer (docs/architecture.md)."""
    build = base_of(job.run.build)
    libraries = _libraries_of_job(job)
    try:
        packages = requirement_lines(build.version, libraries)
    except PinError:
        packages = []  # then only an adopted interpreter serves
    platform = str(worker.facts.get("platform", ""))
    pinned = _requirements(build, libraries, platform).first()
    return {
        "build": build.label,
        "version": build.version,
        "index_url": build.index_url,
        "libraries": needed_libraries(job=job),
        "requirements": pinned.text if pinned else None,
        "packages": packages,
        "hashes": sorted(build.wheel_hashes.values()),
    }


def keep_requirements(
    *, job_id: UUID, attempt: int, worker: Worker, platform: str, text: str
) -> str:
    """The set that the job's environment is made from: `text`, or the one that was kept before it.

    The set is noted on the job. text: one `name==version` a line. Another worker takes only the
    versions from it: which packages are needed it finds by itself.
    Raises Stale: not this worker's running attempt. Raises Refused: another kind of line, which
    could make other workers install from elsewhere.
    """
    text = _pinned(text)
    with transaction.atomic():
        job = find_job(job_id)
        if not is_held(job, attempt, worker) or job.state != JobState.RUNNING:
            raise Stale(why_stale(job, attempt, worker))
        build = base_of(job.run.build)
        libraries = _libraries_of_job(job)
        row, _ = _requirements(build, libraries, platform).get_or_create(
            defaults={"build": build, "libraries": libraries, "platform": platform, "text": text}
        )
        Job.objects.filter(pk=job_id).update(requirements=row)
    return row.text


def record_environments(
    *, worker: Worker, environments: Iterable[Mapping[str, Any]], complete: bool = False
) -> None:
    """Record what a worker reports of its environments; those of unknown builds are left out.

    complete: these are all that it has (it has just started). Others that it had are gone, and one
        that it was making was not finished.
    """
    reports = list(environments)
    builds = TorchBuild.objects.in_bulk([each["build"] for each in reports], field_name="label")
    with transaction.atomic():
        for report in reports:
            build = builds.get(report["build"])
            if build is None:
                continue
            fields = {key: report[key] for key in REPORTED_FIELDS if report.get(key) is not None}
            InstalledEnvironment.objects.update_or_create(
                worker=worker, key=report["key"], defaults={"build": build, **fields}
            )
            if report["state"] == State.READY:
                fill_in_facts(build=build, facts=report.get("facts") or {})
        if complete:
            keys = {report["key"] for report in reports}
            others = InstalledEnvironment.objects.filter(worker=worker).exclude(key__in=keys)
            others.filter(state=State.BUILDING).update(
                state=State.FAILED, message="The worker was stopped while it made it."
            )
            others.filter(state__in=[State.READY, State.DAMAGED]).update(state=State.EVICTED)


def _requirements(
    build: TorchBuild, libraries: Mapping[str, str], platform: str
) -> QuerySet[Requirements]:
    return Requirements.objects.filter(build=build, libraries=libraries, platform=platform)


def _pinned(text: str) -> str:
    """The same lines, parsed. Raises Refused for anything but name==version."""
    lines = [line for line in text.split("\n") if line]
    if not lines or len(text) > MAX_CHARACTERS:
        raise Refused(
            f"requirements: {len(text)} characters; there have to be some, and at most "
            f"{MAX_CHARACTERS}"
        )
    try:
        pinned = [pinned_line(*line.split("==", 1)) for line in lines]
    except (PinError, TypeError):
        raise Refused("requirements: not every line is like name==version") from None
    return "".join(f"{line}\n" for line in pinned)
