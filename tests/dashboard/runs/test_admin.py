"""The admin: "Run now", cancel, retry, schedules, workers; bad input gives a sentence, never a
traceback.
"""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dashboard.models import (
    Benchmark,
    Config,
    InstalledEnvironment,
    Job,
    JobState,
    Machine,
    RefusedResult,
    Run,
    RunState,
    Worker,
)
from dashboard.runs.services import fleet
from tests.builders import site
from tests.builders.admin_pages import RUNS, WORKERS, run_now_form

pytestmark = pytest.mark.django_db


def page_text(response: Any) -> str:
    return re.sub(r"\s+", " ", response.content.decode())


def test_run_now_triggers_a_run_and_shows_it(admin_client: Client) -> None:
    site.living_worker()
    response = admin_client.post(
        reverse("admin:dashboard_run_add"), run_now_form(families=["toy"], label="mine")
    )
    run = Run.objects.get()
    assert response.headers["Location"] == reverse("run", args=[run.pk])
    assert run.label == "mine"
    assert run.jobs.count() == 2
    assert str(run.created_by) == "admin"


def test_the_button_says_run_now_and_the_newest_build_is_chosen(admin_client: Client) -> None:
    site.living_worker()
    site.track()
    page = page_text(admin_client.get(reverse("admin:dashboard_run_add")))
    assert "Run now </button>" in page
    assert f'<option value="{site.build().pk}" selected>' in page


@pytest.mark.parametrize(
    ("form", "begins"), [("comparison", "Measure both now"), ("bisection", "Search now")]
)
def test_button_of_a_form_says_what_it_starts(
    admin_client: Client,
    form: str,
    begins: str,
) -> None:
    page = page_text(admin_client.get(reverse(f"admin:dashboard_{form}_add")))
    assert re.search(f'form="{form}_form"[^>]*> {begins} </button>', page)
    assert "Save and add another" not in page


def test_single_benchmarks_and_configs_can_be_chosen(admin_client: Client) -> None:
    site.living_worker()
    chosen = {
        "benchmarks": [Benchmark.objects.get(name=site.UNET).pk],
        "configs": [Config.objects.get(name="eager").pk],
    }
    admin_client.post(reverse("admin:dashboard_run_add"), run_now_form(**chosen))
    assert [str(job) for job in Job.objects.all()] == [f"{site.UNET} eager"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"families": ["toys"]},
            "Select a valid choice. toys is not one of the available choices.",
        ),
        ({"benchmarks": ["x"]}, "“x” is not a valid value."),
        ({"machine": ""}, "This field is required."),
        ({"build": "999"}, "Select a valid choice."),
    ],
)
def test_bad_input_to_run_now_is_explained(
    admin_client: Client, wrong: dict[str, Any], message: str
) -> None:
    site.living_worker()
    response = admin_client.post(reverse("admin:dashboard_run_add"), run_now_form(**wrong))
    assert response.status_code == 200
    assert message in page_text(response)
    assert not Run.objects.exists()


def test_run_now_says_when_there_is_nothing_to_measure(admin_client: Client) -> None:
    site.living_worker()
    Benchmark.objects.update(retired=True)
    response = admin_client.post(reverse("admin:dashboard_run_add"), run_now_form())
    assert "Nothing is known yet: start a worker" in page_text(response)


def _offered(client: Client, field: str, query: str = "") -> list[str]:
    """The labels that "Run now" offers."""
    page = client.get(f"{reverse('admin:dashboard_run_add')}{query}")
    form = page.context["adminform"].form
    return [str(row) for row in form.fields[field].queryset]


def test_run_now_offers_machines_with_a_living_worker_alone(admin_client: Client) -> None:
    site.living_worker()
    site.machine("imported")
    site.living_worker("silent", on="h200")
    Worker.objects.filter(name="silent").update(last_seen=timezone.now() - timedelta(hours=1))
    assert _offered(admin_client, "machine") == ["cpu-2c"]


def test_run_now_without_a_living_worker_says_what_to_do(admin_client: Client) -> None:
    site.machine("imported")
    assert "No worker is alive: start one" in page_text(
        admin_client.get(reverse("admin:dashboard_run_add"))
    )


def test_run_now_offers_builds_that_the_machine_can_install(admin_client: Client) -> None:
    site.living_worker()
    site.build()
    for label in ("2.11.0+cu130", "git-bbbbbbbbbbbb", "2.14.0a0+git1234"):
        site.build(label)
    assert _offered(admin_client, "build") == [site.BUILD]


def test_run_now_offers_a_build_that_the_machine_has(admin_client: Client) -> None:
    worker, build = site.living_worker(), site.build("2.14.0a0+git1234")
    InstalledEnvironment.objects.create(
        worker=worker, build=build, key="1", state=InstalledEnvironment.State.READY
    )
    assert _offered(admin_client, "build") == [build.label]


def test_build_of_another_kind_of_machine_is_refused(admin_client: Client) -> None:
    site.living_worker()
    site.living_worker("gpu", on="h200")
    Machine.objects.filter(key="h200").update(device_kind="cuda")
    form = run_now_form(build=site.build("2.11.0+cu130").pk)
    page = page_text(admin_client.post(reverse("admin:dashboard_run_add"), form))
    assert "cpu-2c neither has 2.11.0+cu130 nor can install it: choose another." in page
    h200 = Machine.objects.get(key="h200").pk
    assert _offered(admin_client, "build", f"?machine={h200}") == ["2.11.0+cu130"]


def test_jobs_and_minutes_are_told_before_the_button(admin_client: Client) -> None:
    site.living_worker()
    page = admin_client.get(reverse("admin:dashboard_run_add")).text
    assert f'data-address="{reverse("admin:run_cost")}"' in page
    cost = admin_client.post(reverse("admin:run_cost"), run_now_form(families=["toy"])).text
    assert "<p>2 jobs, about 3 min of work.</p>" in cost
    assert not Run.objects.exists()


def test_form_that_is_not_filled_in_says_what_is_still_to_choose(admin_client: Client) -> None:
    site.living_worker()
    form = run_now_form(families=["toy"], machine="", build="")
    cost = admin_client.post(reverse("admin:run_cost"), form).text
    assert "<p>Still to choose: machine, build.</p>" in cost


def test_track_of_another_machine_is_warned_about(admin_client: Client) -> None:
    site.living_worker()
    site.living_worker("gpu", on="h200")
    site.run(machine="h200", track=site.track("gpu-history").key)
    form = run_now_form(track=site.track("gpu-history").pk)
    cost = admin_client.post(reverse("admin:run_cost"), form).text
    assert "The track gpu-history has results of h200 and none of cpu-2c" in cost


def test_track_of_another_kind_of_machine_is_warned_about(admin_client: Client) -> None:
    site.living_worker()
    site.machine("h200")
    Machine.objects.filter(key="h200").update(device_kind="cuda")
    track = site.track("gpu-history")
    for machine in ("h200", "cpu-2c"):
        site.run(machine=machine, track=track.key)
    cost = admin_client.post(reverse("admin:run_cost"), run_now_form(track=track.pk)).text
    assert "Track gpu-history has results of CUDA GPU machines alone (h200), and cpu-2c" in cost


def test_run_now_offers_no_track_of_another_kind_of_machine(admin_client: Client) -> None:
    site.living_worker()
    site.machine("h200")
    Machine.objects.filter(key="h200").update(device_kind="cuda")
    site.build("2.12.0+cpu")
    site.run(machine="h200", track=site.track("gpu-history").key)
    form = admin_client.get(reverse("admin:dashboard_run_add")).context["adminform"].form
    assert form.initial["track"] == site.track("local")


def test_forms_have_no_buttons_that_change_what_is_chosen(admin_client: Client) -> None:
    site.living_worker()
    for form in ("run", "schedule", "rule", "comparison"):
        page = admin_client.get(reverse(f"admin:dashboard_{form}_add")).text
        assert "related-widget-wrapper-link" not in page


def test_run_is_cancelled_after_confirmation(admin_client: Client) -> None:
    run = site.run()
    form = {"action": "cancel", "_selected_action": run.pk}
    assert "Cancel these runs?" in page_text(admin_client.post(RUNS, form))
    admin_client.post(RUNS, {**form, "confirmed": "yes"})
    run.refresh_from_db()
    assert run.state == RunState.CANCELLED


def test_failed_jobs_are_retried_after_confirmation(admin_client: Client) -> None:
    run = site.run()
    run.jobs.update(state=JobState.LOST)
    form = {"action": "retry_failed", "_selected_action": run.pk}
    assert "Measure the failed jobs of these runs again?" in page_text(
        admin_client.post(RUNS, form)
    )
    admin_client.post(RUNS, {**form, "confirmed": "yes"})
    assert run.jobs.get().state == JobState.QUEUED


def test_a_new_workers_token_is_shown_once(admin_client: Client) -> None:
    response = admin_client.post(
        reverse("admin:dashboard_worker_add"),
        {"name": "w1", "machine": site.machine().pk},
        follow=True,
    )
    token = re.search(r"WORKER_TOKEN=([\w-]+)", page_text(response))
    assert token
    assert fleet.worker_of_token(token[1]) == Worker.objects.get(name="w1")
    assert "WORKER_TOKEN" not in page_text(admin_client.get(WORKERS))


def test_a_worker_is_paused_and_resumed(admin_client: Client) -> None:
    worker = site.worker()
    for action, paused in (("pause", True), ("resume", False)):
        admin_client.post(
            WORKERS,
            {
                "action": action,
                "_selected_action": worker.pk,
                "confirmed": "yes",
            },
        )
        worker.refresh_from_db()
        assert worker.paused is paused


def test_worker_is_locked_out_after_confirmation(admin_client: Client) -> None:
    worker = site.worker()
    admin_client.post(
        WORKERS, {"action": "revoke", "_selected_action": worker.pk, "confirmed": "yes"}
    )
    worker.refresh_from_db()
    assert worker.token_hash is None


def test_a_refused_results_body_is_shown_escaped(admin_client: Client) -> None:
    kept = RefusedResult.objects.create(
        source="w1",
        reason="why",
        body=site.pack("<script>"),
    )
    page = page_text(
        admin_client.get(reverse("admin:dashboard_refusedresult_change", args=[kept.pk]))
    )
    assert "&lt;script&gt;" in page
