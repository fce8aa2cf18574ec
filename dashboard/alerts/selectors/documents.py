"""What the result documents on either side of a change say: code, environment, suite, interference.
Reads only.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.alerts.core.attribution import CodeFingerprints
from dashboard.models import Alert, Job, Result
from dashboard.results.core.environments import Difference, environment_differences
from dashboard.results.selectors import history

LOOKED_AT = 5  # result documents on a side
_PRESSURE = ("cpu_pressure", "gpu_shared", "gpu_throttled")


@dataclass(frozen=True, slots=True)
class JobsAround:
    """Jobs of the series on either side of the change, those next to it first."""

    before: list[str]
    after: list[str]


def jobs_around(alert: Alert) -> JobsAround:
    """The scheduled jobs of the alert's series next to its change, and those that measured its
    builds in turn.
    """
    found = history.scheduled([alert.series_id])
    before = found.filter(planned_at__lt=alert.planned_at).order_by("-planned_at")[:LOOKED_AT]
    after = found.filter(planned_at__gte=alert.planned_at)[:LOOKED_AT]
    old, new = (
        [str(job) for job in side.values_list("job_id", flat=True)] for side in (before, after)
    )
    return JobsAround(
        [*old, *_confirming(alert, alert.base_id)], [*new, *_confirming(alert, alert.new_id)]
    )


def _confirming(alert: Alert, build: int | None) -> list[str]:
    """The jobs of the case that its confirmation ran on a build; none where the build did not
    change.
    """
    if alert.pk is None or alert.base_id == alert.new_id:
        return []
    jobs = Job.objects.filter(
        run__confirmation__group=alert.group_id,
        run__build=build,
        benchmark=alert.series.benchmark_id,
        config=alert.series.config_id,
    )
    return [str(job) for job in jobs.order_by("position").values_list("pk", flat=True)[:LOOKED_AT]]


def documents_of(jobs: JobsAround) -> dict[str, dict[str, Any]]:
    """What the facts need of each job's result, by job."""
    found = Result.objects.filter(pk__in=[*jobs.before, *jobs.after]).values(
        "job_id",
        "suite_version",
        "environment__document",
        "document__compile__fingerprints",
        "document__marks",
        "document__ablation",
    )
    return {str(one["job_id"]): dict(one) for one in found}


def _known(documents: Mapping[str, dict[str, Any]], jobs: Sequence[str], key: str) -> list[Any]:
    return [documents[job][key] for job in jobs if job in documents and documents[job][key]]


def pressed(documents: Mapping[str, dict[str, Any]], jobs: Sequence[str]) -> float:
    there = [documents[job]["document__marks"] or [] for job in jobs if job in documents]
    pressed = [any(mark.get("kind") in _PRESSURE for mark in marks) for marks in there]
    return sum(pressed) / len(pressed) if pressed else 0.0


def code(documents: Mapping[str, dict[str, Any]], jobs: JobsAround) -> CodeFingerprints | None:
    sides = [
        _known(documents, side, "document__compile__fingerprints")
        for side in (jobs.before, jobs.after)
    ]
    if not all(sides):
        return None
    unstable = any(
        mark.get("kind") == "fingerprint_unstable"
        for one in documents.values()
        for mark in one["document__marks"] or ()
    )
    return CodeFingerprints(
        _values(sides[0]), _values(sides[1]), min(map(len, sides)), stable=not unstable
    )


def _values(fingerprints: Iterable[Mapping[str, str | None]]) -> dict[str, frozenset[str]]:
    by_kind: dict[str, set[str]] = defaultdict(set)
    for one in fingerprints:
        for kind, value in one.items():
            if value:
                by_kind[kind].add(value)
    return {kind: frozenset(values) for kind, values in by_kind.items()}


def differences(documents: Mapping[str, dict[str, Any]], jobs: JobsAround) -> list[Difference]:
    sides = [_known(documents, side, "environment__document") for side in (jobs.before, jobs.after)]
    return environment_differences(sides[0][0], sides[1][0]) if all(sides) else []


def suite(documents: Mapping[str, dict[str, Any]], jobs: JobsAround) -> tuple[str, str] | None:
    sides = [_known(documents, side, "suite_version") for side in (jobs.before, jobs.after)]
    if not all(sides) or sides[0][0] == sides[1][0]:
        return None
    return sides[0][0], sides[1][0]


def stage(documents: Mapping[str, dict[str, Any]], jobs: JobsAround) -> str:
    found = _known(documents, jobs.after, "document__ablation")
    return str(found[0].get("stage") or "") if found else ""
