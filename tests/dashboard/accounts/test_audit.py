"""The audit trail: who changed what, over which way, secrets left out; reading leaves no trace."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dashboard.accounts.audit import MAX_FIELDS
from dashboard.accounts.services import api_tokens
from dashboard.models import AuditChange
from dashboard.results.services.retention import delete_expired
from dashboard.runs.services import fleet
from tests.builders import site
from tests.builders.reading import text

pytestmark = pytest.mark.django_db


def test_change_on_a_page_is_recorded(operator: Client) -> None:
    run = site.run()
    operator.post(f"/runs/{run.pk}/cancel")
    change = AuditChange.objects.get()
    assert change.name == "operator"
    assert change.method == "POST"
    assert change.path == f"/runs/{run.pk}/cancel"
    assert change.status == 302
    assert not change.with_token


def test_sent_fields_are_recorded_without_secrets(operator: Client) -> None:
    sent = {
        "name": "team",
        "url": "mailto://user:password@smtp.example.org",
        "enabled": "on",
    }
    operator.post("/admin/dashboard/channel/add/", sent)
    assert AuditChange.objects.get().asked == {"name": "team", "enabled": "on"}


def test_few_of_many_fields_are_recorded(operator: Client) -> None:
    sent = {f"{number}" * 300: "x" * 300 for number in range(10, 99)}
    operator.post("/runs/1/cancel", sent)
    asked = AuditChange.objects.get().asked
    assert len(asked) == MAX_FIELDS + 1
    assert asked["…"] == "79 more"
    assert len(str(asked)) < 5_000


def test_account_without_a_role_leaves_no_trace(client: Client) -> None:
    client.force_login(User.objects.create_user("nobody"))
    client.post("/runs/1/cancel")
    assert not AuditChange.objects.exists()


def test_record_of_changes_is_kept_for_a_year(operator: Client) -> None:
    operator.post("/runs/1/cancel")
    now = timezone.now()
    delete_expired(now=now + timedelta(days=364))
    assert AuditChange.objects.exists()
    delete_expired(now=now + timedelta(days=366))
    assert not AuditChange.objects.exists()


def test_nul_characters_are_replaced(operator: Client) -> None:
    operator.post("/runs/1/cancel", {"na\0me": "a\0b"}, content_type="application/json")
    assert AuditChange.objects.get().asked == {"na\ufffdme": "a\ufffdb"}


def test_a_change_with_a_token_names_its_owner() -> None:
    run, owner = site.run(), User.objects.create_superuser("ada")
    token = api_tokens.issue(
        owner=owner, scopes=["trigger"], expires_at=timezone.now() + timedelta(days=1)
    )[1]
    Client(headers={"Authorization": f"Bearer {token}"}).post(f"/api/v1/runs/{run.pk}/cancel")
    assert AuditChange.objects.values_list("name", "with_token").get() == ("ada", True)


def test_refused_change_is_recorded_too(reader: Client) -> None:
    reader.post(f"/runs/{site.run().pk}/cancel")
    assert AuditChange.objects.get().status == 403


def test_reading_and_workers_are_not_recorded(reader: Client) -> None:
    reader.get("/runs/")
    token = fleet.renew_token(worker=site.worker())
    worker = Client(headers={"Authorization": f"Bearer {token}"})
    worker.post("/api/v1/worker/alive", {"boot_id": site.BOOT}, content_type="application/json")
    assert not AuditChange.objects.exists()


def test_the_name_outlives_the_account(operator: Client) -> None:
    operator.post(f"/runs/{site.run().pk}/cancel")
    User.objects.all().delete()
    change = AuditChange.objects.get()
    assert change.name == "operator"
    assert change.by is None


@pytest.mark.parametrize(
    "table", ["dashboard/change", "admin/logentry", "axes/accesslog", "axes/accessattempt"]
)
def test_the_admin_shows_it(admin_client: Client, table: str) -> None:
    admin_client.post(f"/runs/{site.run().pk}/cancel")
    assert "Compilewatch" in text(admin_client, f"/admin/{table}/")
