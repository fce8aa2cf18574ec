"""The search between two builds, on a site: its rounds, what ends it, its pages and its command."""

import math
import re
from html import unescape

import numpy as np
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError
from django.test import Client

from dashboard.catalog.core.plan import PlanError
from dashboard.comparisons.services import bisections
from dashboard.comparisons.services.bisections import (
    advance,
    advance_all,
    between,
    cancel_bisection,
    start_bisection,
)
from dashboard.language.metrics import METRICS
from dashboard.models import Bisection, Job, JobState, TorchBuild, Worker
from dashboard.results.services.ingest import ingest
from tests.builders import site
from tests.builders.people import viewer
from tests.builders.reading import page_text, text

LATENCY = METRICS["latency_ms"]
VERSIONS = [f"2.{minor}.0" for minor in range(1, 12)]


# --- In the database ---


@pytest.fixture
def worker(db: None) -> Worker:
    new_worker = site.worker()
    for version in VERSIONS:
        site.build(version)
    return new_worker


def started(metric: str = "latency_ms") -> Bisection:
    return start_bisection(
        base="2.1.0",
        new="2.11.0",
        machine="cpu-2c",
        benchmark=site.MLP,
        config="inductor",
        metric=metric,
    )


def measure(
    bisection: Bisection,
    worker: Worker,
    broken_since: int = 7,
    broken: str = "",
) -> None:
    """A result for every job that waits: 10% slower from 2.<broken_since> on, with noise."""
    rng = np.random.default_rng(bisection.runs.count())
    waiting = Job.objects.filter(
        run__bisection=bisection, state__in=[JobState.PLANNED, JobState.QUEUED]
    )
    for job in waiting.select_related("run__build"):
        Job.objects.filter(pk=job.pk).update(state=JobState.QUEUED)
        is_slow = int(job.run.build.version.split(".")[1]) >= broken_since
        latency = (1.1 if is_slow else 1.0) * math.exp(rng.normal(0, 0.005))
        fields = {}
        if job.run.build.label == broken or (broken == "since" and is_slow):
            fields = {"status": "fail_to_compile", "metrics": {}}
        claimed = site.claim(job, worker)
        body = site.delivery(claimed, site.result(claimed, {"latency_ms": latency}, **fields))
        ingest(job_id=job.pk, worker=worker, body=body)


def finish(
    bisection: Bisection, worker: Worker, broken_since: int = 7, broken: str = ""
) -> Bisection:
    for _ in range(20):
        measure(bisection, worker, broken_since, broken)
        advance_all()
        bisection.refresh_from_db()
        if bisection.state != "running":
            return bisection
    raise AssertionError("the search does not end")


@pytest.mark.parametrize("since", [2, 7, 11])
def test_search_ends_with_the_neighbours_of_the_change(worker: Worker, since: int) -> None:
    before, after = f"2.{since - 1}.0", f"2.{since}.0"
    search = finish(started(), worker, since)
    assert search.state == "found"
    assert search.low.label == before
    assert search.high.label == after
    assert search.message.startswith(f"It changed between {before} and {after}: ")


def test_ends_and_middle_are_measured_in_turn(worker: Worker) -> None:
    jobs = Job.objects.filter(run__bisection=started()).order_by("planned_at")
    order = [job.run.build.label for job in jobs.select_related("run__build")]
    assert sorted(order[:3]) == ["2.1.0", "2.11.0", "2.6.0"]
    assert order[3:] == order[:3][::-1]


def test_nothing_happens_while_a_round_is_measured(worker: Worker) -> None:
    bisection = started()
    advance(bisection_id=bisection.pk)
    assert bisection.runs.count() == 3


def test_search_that_cannot_be_advanced_does_not_keep_the_others_waiting(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def fail(*, bisection_id: int) -> None:
        tried.append(bisection_id)
        raise OperationalError

    monkeypatch.setattr(bisections, "advance", fail)
    both = {started().pk, started().pk}
    advance_all()
    assert set(tried) == both


def test_build_that_cannot_be_measured_is_passed_over_and_named(worker: Worker) -> None:
    search = finish(started(), worker, broken_since=7, broken="2.6.0")
    assert search.state == "found"
    assert [search.low.label, search.high.label] == ["2.5.0", "2.7.0"]
    assert "2.6.0 between them could not be decided" in search.message


def test_build_added_during_a_round_is_not_given_up_unmeasured(worker: Worker) -> None:
    bisection = started()
    for version in range(1, 9, 2):
        measure(bisection, worker)
        site.build(f"2.6.{version}")
        site.build(f"2.6.{version + 1}")
        advance_all()
    bisection.refresh_from_db()
    assert bisection.steps
    assert not any(step["given_up"] for step in bisection.steps)


def test_ends_that_do_not_differ_end_the_search(worker: Worker) -> None:
    search = finish(started(), worker, broken_since=99)
    assert search.state == "inconclusive"
    assert search.message.startswith("The ends do not differ")


def test_end_without_a_number_ends_the_search(worker: Worker) -> None:
    search = finish(started(), worker, broken="2.11.0")
    assert search.state == "failed"
    assert search.message == "2.11.0 brought no latency_ms: its run says why."


def test_first_failing_build_can_be_searched_too(worker: Worker) -> None:
    search = finish(started("passed"), worker, broken_since=4, broken="since")
    assert search.state == "found"
    assert [search.low.label, search.high.label] == ["2.3.0", "2.4.0"]


def test_builds_of_another_flavour_and_variants_are_not_between(worker: Worker) -> None:
    site.build("2.5.1+rocm6.2")
    TorchBuild.objects.create(
        label="2.5.0 variant", version="2.5.0", base=TorchBuild.objects.get(label="2.5.0")
    )
    assert [build.label for build in between(started())] == VERSIONS[1:-1]


def test_cancelled_search_frees_its_jobs(worker: Worker) -> None:
    bisection = started()
    cancel_bisection(bisection=bisection)
    assert bisection.state == "cancelled"
    assert {run.state for run in bisection.runs.all()} == {"cancelled"}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"base": "2.11.0", "new": "2.1.0"}, "is not older than"),
        ({"base": "2.1.0", "new": "2.2.0"}, "No build lies between"),
        ({"base": "9.9.9"}, "Unknown torch build '9.9.9'"),
        ({"metric": "beauty"}, "Unknown metric 'beauty'"),
        ({"benchmark": "mlq"}, "Unknown benchmark 'mlq'"),
    ],
)
def test_impossible_search_is_refused_with_the_reason(
    worker: Worker, changed: dict[str, str], words: str
) -> None:
    request = {
        "base": "2.1.0",
        "new": "2.11.0",
        "machine": "cpu-2c",
        "benchmark": site.MLP,
        "config": "inductor",
    }
    with pytest.raises(PlanError, match=words):
        start_bisection(**{**request, **changed})  # type: ignore[arg-type]  # all of them are texts


# --- Pages and the command ---


def test_page_of_a_running_search_polls_and_says_what_is_left(
    worker: Worker, operator: Client
) -> None:
    shown = text(operator, started().get_absolute_url())
    assert "at most 4" in shown
    assert 'hx-trigger="every 4s"' in shown


def test_page_of_a_found_change_links_to_the_commits(worker: Worker, operator: Client) -> None:
    TorchBuild.objects.filter(label="2.6.0").update(git_sha="a" * 40)
    TorchBuild.objects.filter(label="2.7.0").update(git_sha="b" * 40)
    shown = text(operator, finish(started(), worker).get_absolute_url())
    assert f"https://github.com/pytorch/pytorch/compare/{'a' * 40}...{'b' * 40}" in shown
    assert "2.6.0 → 2.7.0" in shown


def test_each_measured_build_leads_to_the_page_of_its_change(
    worker: Worker, operator: Client
) -> None:
    shown = text(operator, finish(started(), worker).get_absolute_url())
    links = [unescape(link) for link in re.findall(r'href="(/change/[^"]+)"', shown)]
    assert len(links) == 4  # three candidates and the newest
    for link in links:
        assert operator.get(link, follow=True).status_code == 200


def test_operator_cancels_a_search_and_a_reader_may_not(
    worker: Worker, operator: Client, client: Client
) -> None:
    bisection = started()
    operator.post(bisection.get_absolute_url() + "cancel")
    bisection.refresh_from_db()
    assert bisection.state == "cancelled"
    client.force_login(viewer("reader"))
    assert client.post(bisection.get_absolute_url() + "cancel").status_code == 403


@pytest.mark.parametrize("rows", [0, 1])
def test_list_of_searches_opens(worker: Worker, operator: Client, rows: int) -> None:
    if rows:
        started()
    assert ("mlp.<wbr>" in text(operator, "/experiments/")) == bool(rows)


ADD = "/admin/dashboard/bisection/add/"


def admin_form(base: str, new: str) -> dict[str, object]:
    existing = started()
    return {
        "base": TorchBuild.objects.get(label=base).pk,
        "new": TorchBuild.objects.get(label=new).pk,
        "machine": existing.machine_id,
        "benchmark": existing.benchmark_id,
        "config": existing.config_id,
        "metric": "drift",
    }


def test_search_is_started_in_the_admin(worker: Worker, operator: Client) -> None:
    operator.post(ADD, admin_form("2.3.0", "2.9.0"))
    assert Bisection.objects.filter(metric="drift", base__label="2.3.0").exists()


def test_admin_refuses_a_search_without_builds_between(worker: Worker, operator: Client) -> None:
    refused = operator.post(ADD, admin_form("2.3.0", "2.4.0"))
    assert "No build lies between" in page_text(refused)


def test_search_is_started_from_the_command_line(
    worker: Worker, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("bisect_builds", "2.1.0", "2.5.0", benchmark=site.MLP)
    assert f"/bisections/{Bisection.objects.get().pk}/" in capsys.readouterr().out


def test_command_refuses_with_the_reason(worker: Worker) -> None:
    with pytest.raises(CommandError, match="No build lies between"):
        call_command("bisect_builds", "2.1.0", "2.2.0", benchmark=site.MLP)
