"""Workers: their tokens, their hello when they start, and their idle heartbeats."""

import secrets
from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from dashboard.accounts.core.tokens import hash_token
from dashboard.catalog.services.suite_catalog import (
    record_own_models,
    sync_build,
    sync_catalog,
    without_repositories,
)
from dashboard.language.contracts import Document
from dashboard.models import Machine, TorchBuild, Track, Worker
from dashboard.runs.services.dispatch import dispatch
from dashboard.runs.services.environments import record_environments
from dashboard.runs.services.leases import Stale, void_claims

LOCAL_TRACK = "local"
SEEN_GRAIN = timedelta(seconds=1)  # last_seen is written at most this often


def add_worker(*, name: str, machine: Machine) -> tuple[Worker, str]:
    """A new worker and its token, which is shown this once and kept as a hash only."""
    token = secrets.token_urlsafe(32)
    worker = Worker.objects.create(name=name, machine=machine, token_hash=hash_token(token))
    return worker, token


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
        Worker.objects.filter(pk=worker.pk).update(last_seen=now)
    return worker


def hello(
    *,
    worker: Worker,
    boot_id: str,
    device: str,
    facts: Document,
    catalog: Document,
    builds: Sequence[Document],
    environments: Sequence[Document] = (),
    full_disk: str = "",
) -> int:
    """Record what a starting worker reports; how many of its earlier claims are void by that.

    Raises CatalogError: then nothing is recorded.
    """
    is_new_process = worker.boot_id not in ("", boot_id)
    with transaction.atomic():
        voided = void_claims(worker=worker) if is_new_process else 0
        worker.boot_id = boot_id
        worker.device = device
        worker.facts = dict(facts)
        worker.full_disk = full_disk
        worker.device_holder = ""
        worker.save(update_fields=["boot_id", "device", "facts", "full_disk", "device_holder"])

        sync_catalog(catalog=without_repositories(catalog), machine=worker.machine)
        record_own_models(machine=worker.machine, catalog=catalog)
        reported = [sync_build(build=build) for build in builds]
        ensure_local_track(reported)
        record_environments(worker=worker, environments=environments, complete=True)
        if voided:
            transaction.on_commit(dispatch)
    return voided


def ensure_local_track(builds: Sequence[TorchBuild]) -> None:
    """The track that runs are triggered on by default, made with the first build of a worker.

    Where it then stands is a person's decision, or that of `make up`.
    """
    if builds:
        Track.objects.get_or_create(
            key=LOCAL_TRACK, defaults={"build": builds[0], "label": "The workers' own torch"}
        )


def idle_heartbeat(*, worker: Worker, boot_id: str, full_disk: str = "") -> bool:
    """Note which of its disks is full; whether the worker is paused.

    Raises Stale for a process that has not said hello.
    """
    if boot_id != worker.boot_id:
        raise Stale(
            f"This process of worker {worker} has not said hello, or another one has since: say "
            "hello."
        )
    if worker.full_disk != full_disk:
        worker.full_disk = full_disk
        worker.save(update_fields=["full_disk"])
    return worker.paused
