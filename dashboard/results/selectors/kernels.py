"""The kernels of two jobs next to each other."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from uuid import UUID

from dashboard.models import Artifact, Job, Result
from dashboard.results.core.code_diff import ARCHIVE
from dashboard.results.core.kernel_diff import KernelDiff, kernel_diff
from dashboard.results.core.kernel_profile import ArmProfile, arm_profiles
from dashboard.results.core.kernel_words import KernelTable, kernel_table
from dashboard.results.core.known_changes import KnownChange, in_kernels

Profiles = dict[str, ArmProfile]  # by arm


@dataclass(frozen=True, slots=True)
class KernelComparison:
    """Differences between the kernels of two jobs: a table for each arm that both profiled.

    with_code: those of the two whose generated code is kept.
    """

    base: Job
    new: Job
    tables: list[KernelTable]
    with_code: frozenset[UUID]

    @property
    def base_has_code(self) -> bool:
        return self.base.pk in self.with_code

    @property
    def new_has_code(self) -> bool:
        return self.new.pk in self.with_code

    @property
    def known_changes(self) -> list[KnownChange]:
        """Known changes that any of the tables shows, each once; none for jobs that differ by more
        than their builds.
        """
        if _place(self.base) != _place(self.new):
            return []
        shown = chain.from_iterable(in_kernels(table.diff) for table in self.tables)
        return list(dict.fromkeys(shown))


def of_documents(base: Job, new: Job) -> KernelComparison | None:
    """The comparison of two jobs that come with their results; None where no arm was profiled by
    both. One query.
    """
    documents = [job.result.document if hasattr(job, "result") else {} for job in (base, new)]
    return _comparison(base, new, *map(arm_profiles, documents))


def of_jobs(base: Job, new: Job) -> KernelComparison | None:
    """As `of_documents`; of the results only the profiles are read. Two queries."""
    by_job = profiles_of([base.pk, new.pk])
    return _comparison(base, new, by_job.get(base.pk, {}), by_job.get(new.pk, {}))


def profiles_of(jobs: Iterable[UUID]) -> dict[UUID, Profiles]:
    """The profiles of each job. One query."""
    results = Result.objects.filter(pk__in=[*jobs])
    rows = results.values_list("pk", "document__profile", "environment__document__torch")
    profiles = {}
    for job, profile, torch in rows:
        profiles[job] = arm_profiles({"profile": profile, "environment": {"torch": torch}})
    return profiles


def diffs_of(base: Profiles, new: Profiles) -> list[KernelDiff]:
    """One for each arm that both sides profiled on the same kind of device, compiled first."""
    diffs = [kernel_diff(base[arm], new[arm]) for arm in base if arm in new]
    return [diff for diff in diffs if diff is not None]


def _place(job: Job) -> tuple[int, int, int]:
    """Return what two jobs have in common that differ by their builds alone."""
    return job.benchmark_id, job.config_id, job.run.machine_id


def _comparison(base: Job, new: Job, old: Profiles, fresh: Profiles) -> KernelComparison | None:
    diffs = diffs_of(old, fresh)
    if not diffs:
        return None
    kept = Artifact.objects.filter(name=ARCHIVE, job__in=[base.pk, new.pk])
    with_code = frozenset(kept.values_list("job_id", flat=True))
    return KernelComparison(base, new, [kernel_table(diff) for diff in diffs], with_code)
