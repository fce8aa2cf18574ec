"""Requests become jobs, or a sentence that says what is wrong and what there is."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dashboard.catalog.core.plan import PlanError
from dashboard.models import Job, JobState, Run, RunState
from dashboard.runs.services import runs
from dashboard.runs.services.runs import cancel_run, retry_failed_jobs, trigger_run
from tests.builders import site

pytestmark = pytest.mark.django_db


def cases(run: Run) -> list[str]:
    return [
        f"{job.benchmark.model} {job.benchmark.mode} {job.config.name}"
        for job in run.jobs.order_by("position")
    ]


def trigger(**selection: Any) -> Run:
    site.worker()
    defaults: dict[str, Any] = {
        "build": site.build().label,
        "machine": "cpu-2c",
        "track": site.track().key,
    }
    return trigger_run(**{**defaults, **selection})


def test_the_default_selection_begins_with_the_mlp_in_eager() -> None:
    expected = [
        "mlp inference eager",
        "mlp inference inductor",
        "gpt2 inference eager",
        "gpt2 inference inductor",
    ]
    assert cases(trigger()) == expected


def test_a_family_means_its_benchmarks_of_the_machines_size() -> None:
    assert cases(trigger(families=["llm"], configs=["regional"])) == ["gpt2 inference regional"]


def test_a_named_benchmark_is_taken_whatever_its_size() -> None:
    assert cases(trigger(benchmarks=[site.GPT2_STANDARD], configs=["eager"])) == [
        "gpt2 training eager"
    ]


def test_a_benchmark_without_configs_of_its_own_gets_eager_and_inductor() -> None:
    assert cases(trigger(families=["diffusion"])) == [
        "sd_unet inference eager",
        "sd_unet inference inductor",
    ]


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (
            {"benchmarks": ["gpt.smoke.inference.float32.static.b2"]},
            f"Unknown benchmark 'gpt.*Did you mean {site.GPT2}",
        ),
        ({"benchmarks": ["mlp"]}, rf"Unknown benchmark 'mlp'\. Did you mean {site.MLP}\?"),
        ({"benchmarks": ["smoke"]}, rf"Did you mean {site.MLP} or {site.GPT2}"),
        ({"configs": ["inducter"]}, r"Unknown config 'inducter'\. Did you mean inductor\?"),
        ({"families": ["toys"]}, r"Unknown family 'toys'\. Did you mean toy\?"),
        ({"build": "2.13.0"}, r"Unknown torch build '2\.13\.0'\. Did you mean 2\.13\.0\+cpu\?"),
        ({"machine": "h200"}, r"Unknown machine 'h200'\. Known: cpu-2c\."),
        ({"track": "nightly"}, r"Unknown track 'nightly'\. Known: local\."),
        (
            {"measure": {"budget_s": -1}},
            r"The job file would be invalid: job\.measure\.budget_s: -1",
        ),
    ],
)
def test_plan_error_says_what_is_wrong(selection: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        trigger(**selection)
    assert not Run.objects.exists()


def test_a_site_without_benchmarks_says_how_to_get_them() -> None:
    with pytest.raises(PlanError, match="Nothing is known yet: start a worker"):
        trigger_run(
            build=site.build().label,
            machine=site.machine().key,
            track=site.track().key,
        )


def test_cancelling_ends_every_job_that_has_not_ended() -> None:
    worker = site.worker()
    run = site.run(site.MLP, configs=["eager", "inductor"])
    Job.objects.filter(run=run).update(state=JobState.QUEUED)
    site.claim(run.jobs.earliest("position"), worker)
    assert cancel_run(run=run) == 2
    assert run.state == RunState.CANCELLED
    assert set(run.jobs.values_list("state", flat=True)) == {JobState.CANCELLED}
    assert run.finished_at
    assert set(run.jobs.values_list("state", flat=True)) == {JobState.CANCELLED}


def test_cancelling_keeps_what_is_done() -> None:
    run = site.run(site.MLP, configs=["eager", "inductor"])
    Job.objects.filter(pk=run.jobs.earliest("position").pk).update(state=JobState.DONE)
    assert cancel_run(run=run) == 1
    assert run.jobs.filter(state=JobState.DONE).count() == 1


def test_retrying_queues_the_jobs_that_brought_no_result() -> None:
    run = site.run(site.MLP, configs=["eager", "inductor", "regional"])
    for job, state in zip(
        run.jobs.all(), (JobState.DONE, JobState.LOST, JobState.TIMED_OUT), strict=True
    ):
        Job.objects.filter(pk=job.pk).update(state=state, attempt=3)
    assert retry_failed_jobs(run=run) == 2
    retried = run.jobs.exclude(state=JobState.DONE)
    assert set(retried.values_list("state", "attempt", "max_attempts")) == {(JobState.QUEUED, 4, 6)}
    assert run.state == RunState.RUNNING


def test_jobs_have_the_time_limit_of_their_machine() -> None:
    machine = site.machine()
    machine.timeout_s = 3600
    machine.save()
    job = trigger(benchmarks=[site.MLP]).jobs.first()
    assert job
    assert job.spec["timeout_s"] == 3600


@pytest.mark.parametrize(("many", "analyzed"), [(2, True), (3, False)])
def test_statistics_are_brought_up_to_date_after_a_large_plan(
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
    many: int,
    analyzed: bool,
) -> None:
    monkeypatch.setattr(runs, "MANY_JOBS", many)
    with (
        CaptureQueriesContext(connection) as queries,
        django_capture_on_commit_callbacks(execute=True),
    ):
        trigger(families=["diffusion"])
    analyses = [query for query in queries if query["sql"] == "ANALYZE dashboard_job"]
    assert bool(analyses) == analyzed
