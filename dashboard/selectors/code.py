"""The generated code on either side of a change."""

from dataclasses import dataclass

from dashboard.code_diff import ARCHIVE, FileDiff, Unreadable, differences, unpacked, written
from dashboard.models import Alert, Artifact, Job
from dashboard.selectors.alert_data import around

_NOT_KEPT = (
    "The jobs on one side of the change left no generated code: they were measured without it, "
    "or it is not kept. "
    "Whether the code differs is known all the same: results carry its fingerprints."
)
_NEAR = 8  # jobs on either side of the change that are looked at for code


@dataclass(frozen=True, slots=True)
class Sides:
    """The archives of the last job before a change that left code, and of the first one from it
    on.
    """

    before: Artifact
    after: Artifact


@dataclass(frozen=True, slots=True)
class CodeChange:
    """What differs; problem: why that cannot be said."""

    sides: Sides | None
    files: list[FileDiff]
    problem: str = ""


def sides_of(alert: Alert) -> Sides | None:
    """Where the code of both sides lies; None where one of them left none, or it is not kept. Four
    queries.
    """
    seen = around(alert)
    if seen.line is None:
        return None
    first = int((seen.line.at_ms < seen.step.at_ms).sum())
    before, after = (
        seen.line.job[max(first - _NEAR, 0) : first][::-1],
        seen.line.job[first : first + _NEAR],
    )
    kept = Artifact.objects.filter(name=ARCHIVE, job__in=[*before, *after]).select_related(
        "job__run__build"
    )
    found = {str(artifact.job_id): artifact for artifact in kept}
    old, new = (
        next((found[job] for job in side if job in found), None) for side in (before, after)
    )
    return Sides(old, new) if old and new else None


def change_of(alert: Alert) -> CodeChange:
    """How the generated code differs across the change of an alert."""
    sides = sides_of(alert)
    if sides is None:
        return CodeChange(None, [], _NOT_KEPT)
    try:
        old, new = (unpacked(_bytes(artifact)) for artifact in (sides.before, sides.after))
    except (Unreadable, OSError) as error:
        return CodeChange(sides, [], str(error))
    return CodeChange(sides, differences(old, new))


@dataclass(frozen=True, slots=True)
class Written:
    """What the compiler wrote in one job: file name -> text, by name. problem: why it cannot be
    shown.
    """

    files: dict[str, str]
    problem: str = ""


def of_job(job: Job) -> Written:
    """The generated code of a job. One query."""
    artifact = job.artifacts.filter(name=ARCHIVE).first()
    if artifact is None:
        return Written({}, "This job left no generated code, or it is no longer kept.")
    try:
        return Written(dict(sorted(written(_bytes(artifact)).items())))
    except (Unreadable, OSError) as error:
        return Written({}, str(error))


def _bytes(artifact: Artifact) -> bytes:
    """Raises OSError with words for a page."""
    try:
        with artifact.file.open("rb") as file:
            return bytes(file.read())
    except FileNotFoundError as error:
        raise OSError(f"The code of job {artifact.job_id} is no longer kept.") from error
