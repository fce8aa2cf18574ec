"""The rollup by build follows the results: each counts once, and an invalid point does not."""

import pytest

from dashboard.alerts.services.triage import bring_back, mark_invalid
from dashboard.comparisons.core.matching import Key
from dashboard.comparisons.selectors import comparisons
from dashboard.models import BuildLevel, Comparison, Config, Job, JobState, Series
from dashboard.runs.services.runs import retry_failed_jobs
from tests.builders import site
from tests.builders.comparisons import (
    BASE,
    NEW,
    comparison_jobs,
    deliver_result,
    started_comparison,
)

pytestmark = pytest.mark.django_db


def levels() -> dict[str, tuple[int, float]]:
    """Count the processes that measured eager's latency on each build; with their mean."""
    eager = Config.objects.get(name="eager").pk
    rows = BuildLevel.objects.filter(metric="latency_ms", config_id=eager).select_related("build")
    return {row.build.label: (row.count, row.mean) for row in rows}


def measured_comparison() -> Comparison:
    comparison = started_comparison()
    for number, job in enumerate(comparison_jobs(comparison)):
        deliver_result(job, 2.0 + number / 100)
    return comparison


def eager_on_base(comparison: Comparison) -> tuple[Series, Job]:
    """The series of eager's latency, and its first job on the base."""
    series = Series.objects.get(metric="latency_ms", config__name="eager")
    jobs = Job.objects.filter(run__comparison=comparison, run__build__label=BASE)
    return series, jobs.filter(config__name="eager")[0]


def test_each_result_is_in_the_level_of_its_build() -> None:
    measured_comparison()
    assert {label: count for label, (count, _) in levels().items()} == {BASE: 2, NEW: 2}


def test_invalid_point_leaves_the_level_and_comes_back() -> None:
    comparison = measured_comparison()
    series, job = eager_on_base(comparison)
    before = levels()[BASE]
    point = mark_invalid(
        series=series,
        job=job,
        reason="the machine was used",
        by=None,
    )
    assert levels()[BASE][0] == 1
    bring_back(point=point)
    assert levels()[BASE] == pytest.approx(before)


def test_invalid_point_is_left_out_of_a_comparison_read_by_itself() -> None:
    comparison = measured_comparison()
    series, job = eager_on_base(comparison)
    mark_invalid(
        series=series,
        job=job,
        reason="the machine was used",
        by=None,
    )
    base, new = comparisons.sides(comparison, ["latency_ms"])
    assert [side[Key(site.MLP, "eager")].samples["latency_ms"][0].n for side in (base, new)] == [
        1,
        2,
    ]


def test_job_measured_again_counts_once() -> None:
    comparison = measured_comparison()
    run = comparison.runs.get(build__label=BASE)
    job = run.jobs.filter(config__name="eager").first()
    assert job
    Job.objects.filter(pk=job.pk).update(state=JobState.FAILED)
    retry_failed_jobs(run=run)
    deliver_result(job, 9.0)
    assert levels()[BASE][0] == 2
    assert levels()[BASE][1] > 4
