"""The list of runs, and the page of one: what went wrong comes first; who may do what with it."""

import pytest
from django.test import Client

from dashboard.models import JobState, Run, RunState, Status
from tests.builders import site
from tests.builders.reading import page_text, text

pytestmark = pytest.mark.django_db


def ended(status: str, label: str = "") -> Run:
    """A run of one job that ended with this status."""
    run = site.run(label=label)
    run.jobs.update(state=JobState.DONE, status=status)
    Run.objects.filter(pk=run.pk).update(state=RunState.COMPLETED, finished_at=run.created_at)
    return run


@pytest.mark.parametrize(
    ("query", "labels"),
    [
        ("", {"good", "bad"}),
        ("?outcome=failures", {"bad"}),
        ("?outcome=passed", {"good"}),
    ],
)
def test_runs_are_filtered_by_outcome(reader: Client, query: str, labels: set[str]) -> None:
    ended(Status.PASS, "good")
    ended(Status.FAIL_TO_RUN, "bad")
    rows = reader.get(f"/runs/{query}").context["rows"]
    assert {row.run.label for row in rows} == labels


def test_list_says_how_many_runs_match(reader: Client) -> None:
    ended(Status.FAIL_TO_RUN)
    for _ in range(26):
        ended(Status.PASS)
    assert "27 runs." in text(reader, "/runs/?page=2")
    assert "26 runs match these filters." in text(reader, "/runs/?outcome=passed")
    assert "1 run matches these filters." in text(reader, "/runs/?outcome=failures")


def test_cancelled_run_is_neither_failed_nor_passed(reader: Client) -> None:
    site.run().jobs.update(state=JobState.CANCELLED)
    assert not reader.get("/runs/?outcome=failures").context["rows"]
    assert not reader.get("/runs/?outcome=passed").context["rows"]


def test_list_says_what_failed_of_how_many(reader: Client) -> None:
    ended(Status.FAIL_TO_RUN)
    assert "1 of 1 failed" in text(reader, "/runs/")


def test_list_names_builds_whole(reader: Client) -> None:
    label = f"2.13.0+cpu~{'long_name_' * 6}1a2b3c4d"
    site.run(build=site.build(label).label)
    shown = reader.get("/runs/").text
    assert f'title="{label}"' in shown
    assert "1a2b3c4d</td>" in shown


def test_page_of_a_run_has_human_words(reader: Client) -> None:
    shown = text(reader, ended(Status.FAIL_TO_RUN).get_absolute_url())
    assert "failed to run" in shown
    assert "Jobs that passed" not in shown


def test_operator_cancels_a_run(operator: Client) -> None:
    run = site.run()
    response = operator.post(f"/runs/{run.pk}/cancel", follow=True)
    assert "1 job will not be measured" in page_text(response)
    run.refresh_from_db()
    assert run.state == "cancelled"


def test_operator_queues_cancelled_jobs_again(operator: Client) -> None:
    run = site.run()
    operator.post(f"/runs/{run.pk}/cancel")
    operator.post(f"/runs/{run.pk}/retry")
    assert run.jobs.get().state == JobState.QUEUED


def test_reader_sees_no_button_that_changes_a_run(reader: Client) -> None:
    assert "<dialog" not in text(reader, f"/runs/{site.run().pk}/")


@pytest.mark.parametrize("what", ["cancel", "retry"])
def test_reader_may_not_change_a_run(reader: Client, what: str) -> None:
    response = reader.post(f"/runs/{site.run().pk}/{what}")
    assert response.status_code == 403
    assert "lacks the permission" in page_text(response)


def test_link_does_not_cancel_a_run(operator: Client) -> None:
    assert operator.get(f"/runs/{site.run().pk}/cancel").status_code == 405
