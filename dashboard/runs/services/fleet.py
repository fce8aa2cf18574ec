"""Workers: their tokens, what they say of themselves, and the catalog and builds that they
bring.
"""

import secrets
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Model
from django.utils import timezone

from dashboard.accounts.core.tokens import hash_token
from dashboard.catalog.core.plan import OWN_SIZE
from dashboard.models import Benchmark, Config, Machine, TorchBuild, Worker
from dashboard.runs.services.dispatch import dispatch
from dashboard.runs.services.environments import report
from dashboard.runs.services.leases import Stale, void_claims

Row = TypeVar("Row", bound=Model)
SEEN_GRAIN = timedelta(seconds=1)  # last_seen is written at most this often

BENCHMARK_FIELDS = (
    "version",
    "model",
    "family",
    "size",
    "mode",
    "dtype",
    "shapes",
    "batch_size",
    "item",
    "default_configs",
)
CONFIG_FIELDS = ("label", "about")
BUILD_FIELDS = ("version", "git_sha", "cuda", "triton", "adopted")


class CatalogError(ValueError):
    """A catalog or build that cannot be read; the text says where."""


def add_worker(*, name: str, machine: Machine) -> tuple[Worker, str]:
    """A new worker and its token, which is shown this once and kept as a hash only."""
    token = secrets.token_urlsafe(32)
    return Worker.objects.create(name=name, machine=machine, token_hash=hash_token(token)), token


def renew_token(*, worker: Worker) -> str:
    """Give the worker a new token; the old one is void at once."""
    token = secrets.token_urlsafe(32)
    worker.token_hash = hash_token(token)
    worker.save(update_fields=["token_hash"])
    return token


def revoke_token(*, worker: Worker) -> None:
    """Lock the worker out. Its running job is queued again when the lease ends."""
    worker.token_hash = None
    worker.save(update_fields=["token_hash"])


def worker_of_token(token: str) -> Worker | None:
    """The worker that this token belongs to, noted as seen now."""
    worker = Worker.objects.select_related("machine").filter(token_hash=hash_token(token)).first()
    now = timezone.now()
    if worker is not None and (worker.last_seen is None or worker.last_seen < now - SEEN_GRAIN):
        worker.last_seen = now
        worker.save(update_fields=["last_seen"])
    return worker


def hello(
    *,
    worker: Worker,
    boot_id: str,
    device: str,
    facts: Mapping[str, Any],
    catalog: Mapping[str, Any],
    builds: Sequence[Mapping[str, Any]],
    environments: Sequence[Mapping[str, Any]] = (),
) -> int:
    """Take in what a starting worker says of itself; how many of its earlier claims are void by
    that.

    Raises CatalogError: nothing is taken in.
    """
    with transaction.atomic():
        voided = void_claims(worker=worker) if worker.boot_id not in ("", boot_id) else 0
        worker.boot_id, worker.device, worker.facts = boot_id, device, dict(facts)
        worker.save(update_fields=["boot_id", "device", "facts"])
        sync_catalog(catalog=without_repositories(catalog))
        note_machine(machine=worker.machine, catalog=catalog)
        for build in builds:
            sync_build(build=build)
        report(worker=worker, environments=environments, complete=True)
        if voided:
            transaction.on_commit(dispatch)
    return voided


def alive(*, worker: Worker, boot_id: str) -> bool:
    """The idle heartbeat: whether the worker is paused. Raises Stale for a process that has not
    said hello.
    """
    if boot_id != worker.boot_id:
        raise Stale(
            f"This process of worker {worker} has not said hello, or another one has since: say "
            "hello."
        )
    return worker.paused


def sync_catalog(*, catalog: Mapping[str, Any], retire: bool = False) -> None:
    """Add and update benchmarks and configs as `python -m benchmarks_suite list --json` describes
    them.

    retire: hide those that are not in it from planning; right for the one suite of a site, wrong
        for a worker's hello,
    which may come from an older suite than another worker's. Raises CatalogError.
    """
    benchmarks = [
        _benchmark(entry, place) for place, entry in enumerate(_entries(catalog, "benchmarks"))
    ]
    configs = [_config(entry, place) for place, entry in enumerate(_entries(catalog, "configs"))]
    with transaction.atomic():
        _upsert(Benchmark, benchmarks, [*BENCHMARK_FIELDS, "position", "retired", "imported"])
        _upsert(Config, configs, [*CONFIG_FIELDS, "position", "retired"])
        if retire:
            Benchmark.objects.exclude(name__in=[b.name for b in benchmarks]).update(retired=True)
            Config.objects.exclude(name__in=[c.name for c in configs]).update(retired=True)


def without_repositories(catalog: Mapping[str, Any]) -> Mapping[str, Any]:
    """A worker's catalog without the names that a repository has: its pinned commit counts."""
    entries = catalog.get("benchmarks")
    taken = set(
        Benchmark.objects.filter(repository__isnull=False, retired=False).values_list(
            "name", flat=True
        )
    )
    if not taken or not isinstance(entries, list):
        return catalog
    return {
        **catalog,
        "benchmarks": [
            e for e in entries if not (isinstance(e, Mapping) and e.get("name") in taken)
        ],
    }


def note_machine(*, machine: Machine, catalog: Mapping[str, Any]) -> None:
    """Note that workers of this machine have these own models, and no others but those of
    repositories.

    One that no machine has any more is planned no more.
    """
    offered = {entry["name"] for entry in catalog["benchmarks"] if entry.get("source")}
    known = Benchmark.objects.filter(size=OWN_SIZE, repository__isnull=True)
    for benchmark in known.select_for_update().order_by("pk"):
        without = [key for key in benchmark.machines if key != machine.key]
        machines = sorted([*without, machine.key]) if benchmark.name in offered else without
        if machines != benchmark.machines or benchmark.retired != (not machines):
            benchmark.machines, benchmark.retired = machines, not machines
            benchmark.save(update_fields=["machines", "retired"])


def sync_build(*, build: Mapping[str, Any]) -> TorchBuild:
    """Add or update a torch build as a worker describes it. Raises CatalogError."""
    if not isinstance(build, Mapping) or not build.get("label") or not build.get("version"):
        raise CatalogError(f"builds: {build!r} needs a label and a version")
    known = {key: build[key] for key in BUILD_FIELDS if build.get(key) is not None}
    _checked(TorchBuild(label=build["label"], **known), "builds")
    # Which is what nobody has told
    if (channel := channel_of(str(build["version"]))) != TorchBuild.Channel.RELEASE:
        known["channel"] = channel
    return TorchBuild.objects.update_or_create(label=build["label"], defaults=known)[0]


def channel_of(version: str) -> str:
    """2.14.0.dev20261120 is a nightly, 2.14.0a0+git1234 was built from source, the others are
    releases.
    """
    if ".dev" in version:
        return TorchBuild.Channel.NIGHTLY
    return TorchBuild.Channel.SOURCE if "a0+" in version else TorchBuild.Channel.RELEASE


def _entries(catalog: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    entries = catalog.get(key)
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise CatalogError(
            f"catalog.{key} must be a list of objects, as `python -m benchmarks_suite list "
            "--json` prints"
        )
    return entries


def _benchmark(entry: Mapping[str, Any], place: int) -> Benchmark:
    missing = [key for key in ("name", *BENCHMARK_FIELDS[:-2]) if key not in entry]
    if missing:
        raise CatalogError(
            f"catalog.benchmarks[{place}] ({entry.get('name', '?')}) lacks {', '.join(missing)}"
        )
    fields = {key: entry[key] for key in BENCHMARK_FIELDS if key in entry}
    row = Benchmark(name=entry["name"], position=entry.get("position", place), **fields)
    return _checked(row, f"catalog.benchmarks[{place}]")


def _config(entry: Mapping[str, Any], place: int) -> Config:
    if "name" not in entry:
        raise CatalogError(f"catalog.configs[{place}] lacks name")
    label, about = entry.get("label", entry["name"]), entry.get("about", "")
    row = Config(
        name=entry["name"], label=label, about=about, position=entry.get("position", place)
    )
    return _checked(row, f"catalog.configs[{place}]")


def _checked(row: Row, where: str) -> Row:
    """The row, when every field can be stored. Raises CatalogError."""
    try:
        row.clean_fields(exclude=["default_configs"])  # may be empty
    except ValidationError as error:
        raise CatalogError(
            f"{where}: {'; '.join(f'{key}: {said[0]}' for key, said in error.message_dict.items())}"
        ) from None
    return row


def _upsert(model: Any, rows: Sequence[Any], fields: Sequence[str]) -> None:
    # One order: no deadlock
    rows = sorted({row.name: row for row in rows}.values(), key=lambda row: row.name)
    model.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["name"], update_fields=fields
    )
