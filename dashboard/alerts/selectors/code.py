"""The generated code, and the calls of the compiler, on either side of a change."""

from dataclasses import dataclass

from dashboard.alerts.selectors.alert_data import AroundChange, around
from dashboard.language.contracts import Refused
from dashboard.models import Alert, Artifact
from dashboard.results.core.code_diff import (
    ARCHIVE,
    FileDiff,
    file_diffs,
    normalized_files,
)
from dashboard.results.core.compile_diff import CALLS
from dashboard.results.selectors.generated_code import archive_bytes

NOT_KEPT = (
    "The jobs on one side of the change left no generated code: they were measured without it, "
    "it is not kept, or their points do not count. "
    "Where both results carry its fingerprints, they say whether the code differs all the same."
)
_COMPILE_WORK = ("compile_calls", "cold_start_s")  # judged metrics of compiling
_NEAR = 8  # jobs on either side of the change that are looked at for code


@dataclass(frozen=True, slots=True)
class CodeArchives:
    """Archives that the last job before a change with such a file left, and the first one since."""

    before: Artifact
    after: Artifact


@dataclass(frozen=True, slots=True)
class CodeChange:
    """Differences in the generated code. problem: why they cannot be given."""

    sides: CodeArchives | None
    files: list[FileDiff]
    problem: str = ""


def calls_of(alert: Alert, seen: AroundChange) -> CodeArchives | None:
    """The tables of the compiler's calls on both sides; None for what no compile work explains."""
    if alert.series.metric not in _COMPILE_WORK:
        return None
    return sides_of(alert, seen, name=CALLS)


def sides_of(
    alert: Alert, seen: AroundChange | None = None, name: str = ARCHIVE
) -> CodeArchives | None:
    """Find the archives of the code of both sides; None where one of them is not kept.

    name: of the artifact.
    seen: the points around the change, where they have been read: one query instead of four.
    """
    seen = seen or around(alert)
    before, after = seen.jobs_near(_NEAR)
    kept = Artifact.objects.filter(name=name, job__in=[*before, *after])
    kept = kept.select_related("job__run__build").only("job", "file", "job__run__build__label")
    archives = {str(archive.job_id): archive for archive in kept}
    old = [archives[job] for job in before if job in archives]
    new = [archives[job] for job in after if job in archives]
    if not old or not new:
        return None
    return CodeArchives(old[0], new[0])


def change_of(alert: Alert) -> CodeChange:
    """Compare the generated code across the change of an alert."""
    sides = sides_of(alert)
    if sides is None:
        return CodeChange(None, [], NOT_KEPT)
    try:
        old, new = (
            normalized_files(archive_bytes(artifact)) for artifact in (sides.before, sides.after)
        )
    except (Refused, OSError) as error:
        return CodeChange(sides, [], str(error))
    return CodeChange(sides, file_diffs(old, new))
