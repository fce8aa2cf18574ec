"""Content of the result documents on either side of a change: code, environment, suite,
interference. Reads only.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.alerts.core.change_facts import CodeFingerprints
from dashboard.models import Alert, Job, Result, TorchBuild
from dashboard.results.core.environments import Difference, environment_differences
from dashboard.results.selectors import history

LOOKED_AT = 5  # result documents on a side
_PRESSURE = ("cpu_pressure", "gpu_shared", "gpu_throttled")
_FINGERPRINTS = "document__compile__fingerprints"
_MARKS = "document__marks"
_ABLATION = "document__ablation"
_ENVIRONMENT = "environment__document"
_SUITE = "suite_version"

ResultRow = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ResultsAround:
    """Parts of each job's result that the facts need, on either side of a change, those next to it
    first.
    """

    before: list[ResultRow]
    after: list[ResultRow]

    def values(self, key: str) -> tuple[list[Any], list[Any]]:
        """List what the results on either side say of something, where they say it."""
        before = [row[key] for row in self.before if row[key]]
        after = [row[key] for row in self.after if row[key]]
        return before, after


def builds_of(alert: Alert) -> tuple[TorchBuild, ...]:
    """The builds that it compares, as far as they are known."""
    return tuple(build for build in (alert.base, alert.new) if build is not None)


def results_around(alert: Alert) -> ResultsAround:
    """The results of the scheduled jobs of the alert's series next to its change, with the settings
    of its builds, and of those that measured these in turn.
    """
    scheduled = history.with_settings_of(history.judged([alert.series_id]), builds_of(alert))
    earlier = scheduled.filter(planned_at__lt=alert.planned_at).order_by("-planned_at")
    later = scheduled.filter(planned_at__gte=alert.planned_at)
    before = list(earlier.values_list("job_id", flat=True)[:LOOKED_AT])
    after = list(later.values_list("job_id", flat=True)[:LOOKED_AT])
    before += _confirming_jobs(alert, alert.base_id)
    after += _confirming_jobs(alert, alert.new_id)

    columns = ("job_id", _SUITE, _ENVIRONMENT, _FINGERPRINTS, _MARKS, _ABLATION)
    results = Result.objects.filter(pk__in=[*before, *after]).values(*columns)
    by_job = {row["job_id"]: row for row in results}
    return ResultsAround(
        [by_job[job] for job in before if job in by_job],
        [by_job[job] for job in after if job in by_job],
    )


def _confirming_jobs(alert: Alert, build: int | None) -> list[Any]:
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
    return list(jobs.order_by("position").values_list("pk", flat=True)[:LOOKED_AT])


def disturbed_share(results: Sequence[ResultRow]) -> float:
    """The share of jobs that others on the machine disturbed."""
    if not results:
        return 0.0
    disturbed = [row for row in results if _has_mark(row, *_PRESSURE)]
    return len(disturbed) / len(results)


def _has_mark(row: ResultRow, *kinds: str) -> bool:
    return any(mark.get("kind") in kinds for mark in row[_MARKS] or ())


def code_fingerprints(results: ResultsAround) -> CodeFingerprints | None:
    before, after = results.values(_FINGERPRINTS)
    if not before or not after:
        return None
    rows = [*results.before, *results.after]
    unstable = any(_has_mark(row, "fingerprint_unstable") for row in rows)
    return CodeFingerprints(
        _values_by_kind(before),
        _values_by_kind(after),
        jobs=min(len(before), len(after)),
        stable=not unstable,
    )


def _values_by_kind(
    fingerprints: Iterable[Mapping[str, str | None]],
) -> dict[str, frozenset[str]]:
    by_kind: dict[str, set[str]] = defaultdict(set)
    for of_job in fingerprints:
        for kind, value in of_job.items():
            if value:
                by_kind[kind].add(value)
    return {kind: frozenset(values) for kind, values in by_kind.items()}


def environment_changes(results: ResultsAround) -> list[Difference]:
    before, after = results.values(_ENVIRONMENT)
    if not before or not after:
        return []
    return environment_differences(before[0], after[0])


def suite_versions(results: ResultsAround) -> tuple[str, str] | None:
    """The suite's version before and after the change; None where it stayed or is not known."""
    before, after = results.values(_SUITE)
    if not before or not after or before[0] == after[0]:
        return None
    return before[0], after[0]


def blamed_stage(results: ResultsAround) -> str:
    """The compiler's stage that the ablation blames; "" where there was none."""
    for ablation in results.values(_ABLATION)[1]:
        return str(ablation.get("stage") or "")
    return ""
