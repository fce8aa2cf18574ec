"""Environments on the workers: what a job's one is made from, and what the workers say of those
that they have.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from dashboard.catalog.core.pins import BESIDE, PinError, newest_set, top_level
from dashboard.catalog.services.builds import learn
from dashboard.language.contracts import Refused
from dashboard.models import InstalledEnvironment, Job, JobState, Requirements, TorchBuild, Worker
from dashboard.runs.services.leases import Stale, find_job, is_held, why_stale

# No URL, no option
LINE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9,._-]+\])?==[A-Za-z0-9.!+_-]+")
LIMIT_CHARACTERS = 100_000
State = InstalledEnvironment.State


def base_of(build: TorchBuild) -> TorchBuild:
    """The build whose environment this one runs in: of a variant its base, else itself."""
    return build.base or build


def libraries_of(*, build: TorchBuild, asked: Mapping[str, str]) -> dict[str, str]:
    """The library set of an environment that is made: what was asked for, else the newest that the
    build takes.

    Empty for a build of which the table of pins knows nothing.
    """
    if asked:
        return dict(asked)
    try:
        return newest_set(build.version)
    except PinError:
        return {}


def wanted(*, job: Job, worker: Worker) -> dict[str, Any]:
    """The `environment` of a claim's answer (docs/architecture.md)."""
    build = base_of(job.run.build)
    libraries = libraries_of(build=build, asked=job.run.libraries)
    known = _requirements(build, libraries, str(worker.facts.get("platform", ""))).first()
    return {
        "build": build.label,
        "version": build.version,
        "index_url": build.index_url,
        "libraries": job.run.libraries,
        "requirements": known.text if known else None,
        "packages": top_level(build.version, libraries)
        if libraries
        else [f"torch=={build.version}", *BESIDE],
    }


def keep_requirements(
    *, job_id: UUID, attempt: int, worker: Worker, platform: str, text: str
) -> str:
    """The set that the job's environment is made from: `text`, or the one that was kept before it;
    noted on the job.

    text: one `name==version` a line. Raises Stale: not this worker's running attempt. Raises
        Refused: another kind of
    line, which could make other workers install from elsewhere.
    """
    _refuse_odd_lines(text)
    with transaction.atomic():
        job = find_job(job_id)
        if not is_held(job, attempt, worker) or job.state != JobState.RUNNING:
            raise Stale(why_stale(job, attempt, worker))
        build = base_of(job.run.build)
        libraries = libraries_of(build=build, asked=job.run.libraries)
        row, _ = _requirements(build, libraries, platform).get_or_create(
            defaults={"build": build, "libraries": libraries, "platform": platform, "text": text}
        )
        Job.objects.filter(pk=job_id).update(requirements=row)
    return row.text


def report(
    *, worker: Worker, environments: Iterable[Mapping[str, Any]], complete: bool = False
) -> None:
    """Take in what a worker says of its environments; entries of builds that are not known here are
    left out.

    complete: these are all that it has (it has just started): others that it had are gone, and one
        that it was making
    was not finished.
    """
    told = list(environments)
    builds = {
        build.label: build
        for build in TorchBuild.objects.filter(label__in={each["build"] for each in told})
    }
    with transaction.atomic():
        for each in told:
            if each["build"] in builds:
                _note(worker, builds[each["build"]], each)
        if complete:
            _forget_others(worker, {each["key"] for each in told})


def _note(worker: Worker, build: TorchBuild, told: Mapping[str, Any]) -> None:
    names = ("libraries", "state", "adopted", "message", "size_mb", "last_used")
    said = {name: told[name] for name in names if told.get(name) is not None}
    InstalledEnvironment.objects.update_or_create(
        worker=worker, key=told["key"], defaults={"build": build, **said}
    )
    if told["state"] == State.READY:
        learn(build=build, facts=told.get("facts") or {})


def _forget_others(worker: Worker, keys: Iterable[str]) -> None:
    others = InstalledEnvironment.objects.filter(worker=worker).exclude(key__in=keys)
    others.filter(state=State.BUILDING).update(
        state=State.FAILED, message="The worker was stopped while it made it."
    )
    others.filter(state__in=[State.READY, State.DAMAGED]).update(state=State.EVICTED)


def _requirements(
    build: TorchBuild, libraries: Mapping[str, str], platform: str
) -> QuerySet[Requirements]:
    return Requirements.objects.filter(build=build, libraries=libraries, platform=platform)


def _refuse_odd_lines(text: str) -> None:
    lines = text.splitlines()
    if not lines or len(text) > LIMIT_CHARACTERS:
        raise Refused(
            f"requirements: {len(text)} characters; there have to be some, and at most "
            f"{LIMIT_CHARACTERS}"
        )
    odd = next((line for line in lines if not LINE.fullmatch(line)), None)
    if odd is not None:
        raise Refused(f"requirements: {odd[:200]!r} is no line like name==version")
