"""The admin without a shell: lists that are filtered and searched, uploads, starts, and decisions
made again.
"""

import io
import re
import tarfile
from typing import Any

import pytest
from django.contrib.admin import site as admin_site
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from dashboard.models import Job, Run, Worker
from dashboard.site import admin_look
from tests.builders import site
from tests.builders.admin_pages import RUNS, WORKERS, run_now_form
from tests.builders.alerting import stepped
from tests.builders.pages import REAL_RESULT

pytestmark = pytest.mark.django_db
UPLOAD = "/admin/import-results/"
LISTS = [
    (model, model_admin)
    for model, model_admin in admin_site._registry.items()
    if model._meta.app_label == "dashboard"
]


def page_text(client: Client, address: str) -> str:
    return re.sub(r"\s+", " ", client.get(address).text)


@pytest.mark.parametrize(
    ("model", "model_admin"), LISTS, ids=lambda value: getattr(value, "__name__", "")
)
def test_every_list_is_filtered_and_searched(
    model: Any, model_admin: Any, admin_client: Client
) -> None:
    assert model_admin.list_filter, "without a filter"
    assert model_admin.search_fields, "without a search"
    address = reverse(f"admin:dashboard_{model._meta.model_name}_changelist")
    assert admin_client.get(f"{address}?q=nothing-of-that-name").status_code == 200


# --- Actions ask first
def test_pausing_a_worker_asks_first(admin_client: Client) -> None:
    worker = site.worker()
    form = {"action": "pause", "_selected_action": [worker.pk]}
    assert "Let these workers begin no further job?" in admin_client.post(WORKERS, form).text
    assert not Worker.objects.get().paused
    admin_client.post(WORKERS, {**form, "confirmed": "yes"})
    assert Worker.objects.get().paused


# --- Run now
def test_ticked_starts_are_measured_by_each_job(admin_client: Client) -> None:
    site.living_worker()
    admin_client.post(
        reverse("admin:dashboard_run_add"),
        run_now_form(families=["toy"], starts=["cold", "restored"]),
    )
    assert {tuple(job.spec["measure"]["starts"]) for job in Job.objects.all()} == {
        ("cold", "restored")
    }


def test_soak_is_part_of_each_job_that_it_was_asked_for(admin_client: Client) -> None:
    site.living_worker()
    address = reverse("admin:dashboard_run_add")
    admin_client.post(address, run_now_form(families=["toy"], soak_steps="400"))
    assert {job.spec["measure"]["soak_steps"] for job in Job.objects.all()} == {400}


# --- Uploads
def send(client: Client, name: str, content: bytes, **more: str) -> str:
    form = {"file": SimpleUploadedFile(name, content), "track": "import", **more}
    return re.sub(r"\s+", " ", client.post(UPLOAD, form, follow=True).text)


def test_uploaded_result_is_imported_once(admin_client: Client) -> None:
    content = REAL_RESULT.read_bytes()
    added = send(admin_client, "result.json", content)
    assert "1 added, 0 here already, 0 refused." in added
    assert 'href="/benchmarks/?track=import"' in added
    assert "0 added, 1 here already, 0 refused." in send(admin_client, "again.json", content)
    assert Run.objects.get().track.key == "import"


def test_checking_changes_nothing(admin_client: Client) -> None:
    assert "1 would be added" in send(
        admin_client, "result.json", REAL_RESULT.read_bytes(), dry_run="on"
    )
    assert not Run.objects.exists()


def test_refused_upload_is_counted(admin_client: Client) -> None:
    assert "0 added, 0 here already, 1 refused." in send(admin_client, "result.json", b"{}")


def test_unreadable_archive_is_an_error_of_its_field(admin_client: Client) -> None:
    assert "cannot be read" in send(admin_client, "results.tar.gz", b"garbage")


def archive(name: str, content: bytes) -> bytes:
    """A .tar.gz with one file."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as members:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        members.addfile(member, io.BytesIO(content))
    return file.getvalue()


def test_archive_without_results_says_what_it_was_to_have(admin_client: Client) -> None:
    page = send(admin_client, "results.tar.gz", archive("notes.md", b"nothing"))
    assert "results.tar.gz has no results. In an archive, files that end in .json, .csv" in page
    assert "0 added" not in page


def test_zip_is_refused_with_the_archive_that_is_read(admin_client: Client) -> None:
    assert "results.zip is not an archive that is read" in send(admin_client, "results.zip", b"PK")


def test_result_in_an_archive_is_imported(admin_client: Client) -> None:
    content = archive("001-mlp/result.json", REAL_RESULT.read_bytes())
    assert "1 added, 0 here already, 0 refused." in send(admin_client, "results.tgz", content)


def test_list_of_runs_leads_to_the_upload(admin_client: Client) -> None:
    assert f"{RUNS}import-results/" in page_text(admin_client, RUNS)
    assert admin_client.get(f"{RUNS}import-results/").headers["Location"] == UPLOAD
    assert "Only check, change nothing" in page_text(admin_client, UPLOAD)


def test_only_who_may_add_runs_uploads(reader: Client) -> None:
    assert reader.post(UPLOAD, {"track": "import"}).status_code in {302, 403}
    assert not Run.objects.exists()


# --- Alerts
def test_an_alert_is_decided_again_from_its_stored_points(admin_client: Client) -> None:
    form = {"action": "decide_again", "_selected_action": [stepped().group_id]}
    page = admin_client.post(
        reverse("admin:dashboard_alertgroup_changelist"), form, follow=True
    ).text
    assert "today the same." in page


# --- The sidebar
def test_the_sidebar_leads_to_every_list() -> None:
    assert {model._meta.label_lower for model in admin_site._registry} == {*admin_look.listed()}


def test_the_sidebar_is_grouped_by_the_work(admin_client: Client) -> None:
    page = page_text(admin_client, RUNS)
    assert page.index("What is measured") < page.index("Wrong passwords")


def test_sidebar_shows_only_what_one_may_view(
    client: Client, django_user_model: type[User]
) -> None:
    user = django_user_model.objects.create_user("clerk", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_run"))
    client.force_login(user)
    page = page_text(client, RUNS)
    assert "/admin/dashboard/run/" in page
    assert "/admin/dashboard/worker/" not in page
