"""Git repositories of own models, each pinned to a commit. docs/own-models.md."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from dashboard.models import Benchmark, ModelRepository, Worker
from dashboard.runs.services import fleet

PROBLEM_CHARACTERS = 20_000


def save_repository(*, repository: ModelRepository) -> None:
    """Save it; another address or commit is another revision, which workers are told with their
    next heartbeat.
    """
    with transaction.atomic():
        before = ModelRepository.objects.select_for_update().filter(pk=repository.pk).first()
        if before is not None and (before.url, before.commit) != (
            repository.url,
            repository.commit,
        ):
            repository.revision = before.revision + 1
            repository.problem = ""
        repository.save()


def delete_repository(*, repository: ModelRepository) -> None:
    """Delete it; its benchmarks are planned no more, what they measured stays."""
    with transaction.atomic():
        repository.benchmarks.update(retired=True)
        repository.delete()


def pinned() -> list[dict[str, Any]]:
    """What workers fetch: key, url, commit and revision of each repository."""
    fields = ("key", "url", "commit", "revision")
    return [dict(row) for row in ModelRepository.objects.values(*fields)]


def take_repository(
    *,
    worker: Worker,
    key: str,
    revision: int,
    benchmarks: Sequence[Mapping[str, Any]],
    problem: str,
) -> int:
    """Take in what a repository offers; how many benchmarks. Nothing, where it is gone or pinned
    anew since.

    Names that the suite, a worker's own files or another repository has are left out, and told.
    Raises CatalogError.
    """
    with transaction.atomic():
        found = (
            ModelRepository.objects.select_for_update().filter(key=key, revision=revision).first()
        )
        if found is None:
            return 0
        names = [entry.get("name") for entry in benchmarks]
        foreign = set(
            Benchmark.objects.filter(name__in=names)
            .exclude(repository=found)
            .filter(retired=False)
            .values_list("name", flat=True)
        )
        own = [
            {**entry, "version": revision}
            for entry in benchmarks
            if entry.get("name") not in foreign
        ]
        fleet.sync_catalog(catalog={"benchmarks": own, "configs": []})
        kept = [entry["name"] for entry in own]
        Benchmark.objects.filter(name__in=kept).update(repository=found, machines=[])
        found.benchmarks.exclude(name__in=kept).update(retired=True)
        told = [
            problem,
            *(
                f"{name} is left out: another source has one of that name"
                for name in sorted(foreign)
            ),
        ]
        found.problem = "\n".join(filter(None, told))[:PROBLEM_CHARACTERS]
        found.read_revision, found.read_by = (
            revision,
            f"{worker.name}, {timezone.now():%Y-%m-%d %H:%M} UTC",
        )
        found.save(update_fields=["problem", "read_revision", "read_by"])
    return len(kept)
