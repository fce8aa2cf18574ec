"""Whatever is sent to a page or form, by whomever: an answer, and never a server error.

FUZZ_SECONDS is how long each role tries (8); FUZZ_SEED another order of the same.
"""

import logging
import os
import time
from collections.abc import Iterator
from http.cookies import SimpleCookie
from random import Random
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client, override_settings
from django.utils import timezone

from dashboard.accounts.services.roles import Role, assign
from dashboard.models import Annotation, Benchmark, Channel, SavedView
from dashboard.runs.services.schedules import ensure_nightly
from tests.builders import alerting, hostile, site

SECONDS = float(os.environ.get("FUZZ_SECONDS", "8"))
SEED = os.environ.get("FUZZ_SEED", "1")
LOGIN_REQUIRED = "django.contrib.auth.middleware.LoginRequiredMiddleware"
WHO = ("anonymous", *Role, "superuser")
ACTS = ("move", "again", "assign", "note", "link", "nudge", "split", "merge", "invalidate", "mute")
NOT_OFFERED = 501  # Parquet without pyarrow


@pytest.fixture
def real(db: None) -> dict[str, list[str]]:
    """Values that lead to rows: a run, its jobs, an alert, a remark, a schedule, a channel."""
    alert = alerting.stepped()
    benchmark = Benchmark.objects.get(pk=alert.series.benchmark_id)
    Annotation.objects.create(benchmark=benchmark, text="x", at=timezone.now())
    Channel.objects.create(name="ops", url="webhook+https://hooks.example.org/x")
    ensure_nightly(machine=alert.series.machine, track=site.track())
    assert alert.job is not None
    run = alert.job.run
    keys = [str(key) for key in (alert.pk, alert.group_id, run.pk, alert.series_id, 1)]
    return {
        "pk": keys,
        "object_id": keys,
        "uuid": [str(alert.job_id)],
        "name": [benchmark.name, *ACTS],
        "benchmark": [benchmark.name],
        "machine": [run.machine.key],
        "track": [run.track.key],
        "config": ["eager", "inductor"],
        "job": [str(alert.job_id)],
        "series": [str(alert.series_id)],
        "action": ["delete_selected"],
        "_selected_action": keys,
        "act": ["remove", "rename", "default", "mine", "merge"],
        "slug": ["alerts"],
        "app_label": ["dashboard"],
    }


def client_of(who: str) -> Client:
    client = Client()
    if who == "superuser":
        client.force_login(User.objects.create_superuser(who))
    elif who != "anonymous":
        person = User.objects.create_user(who)
        assign(user=person, role=Role(who))
        client.force_login(person)
        SavedView.objects.create(user=person, name="mine", address="/runs/")
    return client


def send(client: Client, request: hostile.HostileRequest) -> Any:
    """The answer, read to its end; what it changed is taken back, signing out as well."""
    cookies = {name: morsel.value for name, morsel in client.cookies.items()}
    with transaction.atomic():
        answer: Any
        if request.method == "POST":
            answer = client.post(request.address, request.form)
        else:
            answer = client.get(request.address)
        if getattr(answer, "streaming", False):
            b"".join(answer.streaming_content)
        transaction.set_rollback(True)
    client.cookies = SimpleCookie(cookies)
    return answer


@pytest.fixture
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("is_public", [False, True], ids=["closed", "public"])
@pytest.mark.parametrize("who", WHO)
def test_no_request_makes_a_page_fail(
    who: str, is_public: bool, real: dict[str, list[str]]
) -> None:
    random = Random(f"{SEED} {who} {is_public}")
    every = hostile.pages()
    of_admin = [page for page in every if page.route.startswith("admin/")]
    pages = [page for page in every if page not in of_admin]
    middleware = [name for name in settings.MIDDLEWARE if not is_public or name != LOGIN_REQUIRED]
    with override_settings(MIDDLEWARE=middleware, PUBLIC_READ=is_public):
        client, until = client_of(who), time.monotonic() + SECONDS / 2
        while time.monotonic() < until:
            request = hostile.request_to(
                random.choice(random.choice((pages, of_admin))), real, random
            )
            try:
                answer = send(client, request)
            except Exception as error:
                pytest.fail(f"{request} made {type(error).__name__}: {error}")
            assert answer.status_code < 500 or answer.status_code == NOT_OFFERED, request
