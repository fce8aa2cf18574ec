"""Git repositories of own models, each pinned to a commit. docs/own-models.md."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from dashboard.catalog.services.suite_catalog import sync_catalog
from dashboard.language.moments import stamp
from dashboard.models import Benchmark, ModelRepository, Worker

PROBLEM_CHARACTERS = 20_000


def save_repository(*, repository: ModelRepository) -> None:
    """Save it. Another address or commit is another revision: the next heartbeat announces it."""
    with transaction.atomic():
        before = ModelRepository.objects.select_for_update().filter(pk=repository.pk).first()
        pin = (repository.url, repository.commit)
        if before is not None and (before.url, before.commit) != pin:
            repository.revision = before.revision + 1
            repository.problem = ""
        repository.save()


def delete_repository(*, repository: ModelRepository) -> None:
    """Delete it; its benchmarks are no longer planned, what they measured stays."""
    with transaction.atomic():
        repository.benchmarks.update(retired=True)
        repository.delete()


def pinned_repositories() -> list[dict[str, Any]]:
    """List what workers fetch: key, url, commit and revision of each repository."""
    fields = ("key", "url", "commit", "revision")
    return [dict(row) for row in ModelRepository.objects.values(*fields)]


def record_repository(
    *,
    worker: Worker,
    key: str,
    revision: int,
    benchmarks: Sequence[Mapping[str, Any]],
    problem: str,
) -> int:
    """Record what a repository offers at this revision; how many benchmarks.

    0 where it is gone, or pinned to another revision since. Names that the suite, a worker's own
    files or another repository has are left out, and listed in `problem`. Raises CatalogError.
    """
    with transaction.atomic():
        pinned = ModelRepository.objects.select_for_update().filter(key=key, revision=revision)
        repository = pinned.first()
        if repository is None:
            return 0
        names = [entry.get("name") for entry in benchmarks]
        named = Benchmark.objects.filter(name__in=names, retired=False)
        taken = set(named.exclude(repository=repository).values_list("name", flat=True))
        offered = [
            {**entry, "version": revision} for entry in benchmarks if entry.get("name") not in taken
        ]
        sync_catalog(catalog={"benchmarks": offered, "configs": []})

        kept = [entry["name"] for entry in offered]
        Benchmark.objects.filter(name__in=kept).update(repository=repository, machines=[])
        repository.benchmarks.exclude(name__in=kept).update(retired=True)

        problems = [problem] if problem else []
        for name in sorted(taken):
            problems.append(f"{name} is left out: another source has one of that name")
        repository.problem = "\n".join(problems)[:PROBLEM_CHARACTERS]
        repository.read_revision = revision
        repository.read_by = f"{worker.name}, {stamp(timezone.now())}"
        repository.save(update_fields=["problem", "read_revision", "read_by"])
    return len(kept)
