"""The generated code on either side of a change."""

from dataclasses import dataclass

from dashboard.alerts.selectors.alert_data import around
from dashboard.models import Alert, Artifact
from dashboard.results.core.code_diff import (
    ARCHIVE,
    FileDiff,
    UnreadableArchive,
    file_diffs,
    normalized_files,
)
from dashboard.results.selectors.generated_code import archive_bytes

_NOT_KEPT = (
    "The jobs on one side of the change left no generated code: they were measured without it, "
    "or it is not kept. "
    "Whether the code differs is known all the same: results carry its fingerprints."
)
_NEAR = 8  # jobs on either side of the change that are looked at for code


@dataclass(frozen=True, slots=True)
class CodeArchives:
    """The archives of the last job before a change that left code, and of the first one from it
    on.
    """

    before: Artifact
    after: Artifact


@dataclass(frozen=True, slots=True)
class CodeChange:
    """What differs; problem: why that cannot be said."""

    sides: CodeArchives | None
    files: list[FileDiff]
    problem: str = ""


def sides_of(alert: Alert) -> CodeArchives | None:
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
    return CodeArchives(old, new) if old and new else None


def change_of(alert: Alert) -> CodeChange:
    """How the generated code differs across the change of an alert."""
    sides = sides_of(alert)
    if sides is None:
        return CodeChange(None, [], _NOT_KEPT)
    try:
        old, new = (
            normalized_files(archive_bytes(artifact)) for artifact in (sides.before, sides.after)
        )
    except (UnreadableArchive, OSError) as error:
        return CodeChange(sides, [], str(error))
    return CodeChange(sides, file_diffs(old, new))
