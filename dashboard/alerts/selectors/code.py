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
    """The archives of the last job before a change that left code, and of the first one since."""

    before: Artifact
    after: Artifact


@dataclass(frozen=True, slots=True)
class CodeChange:
    """What differs. problem: why that cannot be said."""

    sides: CodeArchives | None
    files: list[FileDiff]
    problem: str = ""


def sides_of(alert: Alert) -> CodeArchives | None:
    """Where the code of both sides lies; None where one of them is not kept. Four queries."""
    seen = around(alert)
    if seen.line is None:
        return None
    first = int((seen.line.at_ms < seen.step.at_ms).sum())
    before = seen.line.job[max(first - _NEAR, 0) : first][::-1]
    after = seen.line.job[first : first + _NEAR]
    kept = Artifact.objects.filter(name=ARCHIVE, job__in=[*before, *after])
    archives = {str(archive.job_id): archive for archive in kept.select_related("job__run__build")}
    old = [archives[job] for job in before if job in archives]
    new = [archives[job] for job in after if job in archives]
    if not old or not new:
        return None
    return CodeArchives(old[0], new[0])


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
