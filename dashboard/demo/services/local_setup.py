"""Rows for `make up` in the database: machine, track, worker, account, schedule, first run."""

import secrets
from collections.abc import Mapping
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils import timezone

from dashboard.catalog.core.hardware import Hardware
from dashboard.catalog.services.machines import ensure_machine
from dashboard.catalog.services.suite_catalog import sync_build, sync_catalog
from dashboard.models import Machine, Run, TorchBuild, Track, Worker
from dashboard.runs.services.fleet import (
    LOCAL_TRACK,
    add_worker,
    renew_token,
    worker_of_token,
)
from dashboard.runs.services.partitions import ensure_coming_partitions
from dashboard.runs.services.runs import trigger_run
from dashboard.runs.services.schedules import ensure_nightly

WORKER, ADMIN = "local", "admin"
# Half of the usual budget: everything has a first point within 20 minutes on two cores
FIRST_RUN = {"budget_s": 10}


def setup_local(
    *,
    hardware: Hardware,
    catalog: Mapping[str, Any],
    build: Mapping[str, Any],
    worker_token: str,
) -> dict[str, str | int | None]:
    """Add what is missing, and follow the installed build and the suite's catalog.

    Nothing that a person set is changed. Returns what was set up; the two secrets are None where
    they existed: only a new one is known. Raises CatalogError, PlanError.

    worker_token: the token that the worker would use; it gets a new one where the site does not
        know it.
    """
    ensure_coming_partitions(now=timezone.now())
    with transaction.atomic():
        sync_catalog(catalog=catalog, retire=True)
        installed = sync_build(build=build)
        machine = ensure_machine(hardware)
        track = follow(installed)
        ensure_nightly(machine=machine, track=track)
        return {
            "machine": machine.key,
            "build": installed.label,
            "admin_password": ensure_admin(),
            "worker_token": ensure_worker(machine, worker_token),
            "first_run": ensure_first_run(machine, track, installed),
        }


def follow(build: TorchBuild) -> Track:
    """The track of whatever torch is installed here."""
    new = {"build": build, "label": "The torch installed here"}
    track, _ = Track.objects.update_or_create(
        key=LOCAL_TRACK, defaults={"build": build}, create_defaults=new
    )
    return track


def ensure_admin() -> str | None:
    """The password of a new admin account; None when somebody can sign in to the admin already."""
    accounts = get_user_model().objects
    if accounts.filter(is_superuser=True).exists():
        return None
    password = secrets.token_urlsafe(12)
    accounts.create_superuser(username=ADMIN, email="", password=password)
    return password


def ensure_worker(machine: Machine, token: str) -> str | None:
    """The new token of the local worker; None when `token` is one that the site knows."""
    if token and worker_of_token(token):
        return None
    worker = Worker.objects.filter(name=WORKER).first()
    if worker is None:
        return add_worker(name=WORKER, machine=machine)[1]
    worker.machine = machine
    worker.save(update_fields=["machine"])
    return renew_token(worker=worker)


def ensure_first_run(machine: Machine, track: Track, build: TorchBuild) -> int | None:
    """The first run of this machine, of its default selection; None when there has been one."""
    if Run.objects.filter(machine=machine).exists():
        return None
    return trigger_run(
        build=build.label,
        machine=machine.key,
        track=track.key,
        label="First run",
        measure=FIRST_RUN,
    ).pk
