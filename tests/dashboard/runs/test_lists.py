"""Lists of jobs: planned line by line, and their result files as the worker delivered them."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from dashboard.catalog.core.plan import PlanError
from dashboard.models import Job, JobState, Run
from dashboard.results.selectors.result_files import result_file
from dashboard.results.services.imports import ImportSource, import_results
from dashboard.results.services.ingest import ingest
from dashboard.runs.core.job_lists import ListedJob, parse
from dashboard.runs.services.lists import trigger_list
from tests.builders import site

NO_FUSION = {"inductor": {"epilogue_fusion": False}}


def lines(*jobs: dict[str, Any]) -> str:
    return "\n".join(
        json.dumps(
            {
                "benchmark": site.MLP,
                "config": "inductor",
                **job,
            }
        )
        for job in jobs
    )


def trigger(text: str) -> list[Job]:
    site.worker()
    return trigger_list(
        lines=parse(text), machine="cpu-2c", track=site.track().key, build=site.BUILD
    )


def test_a_line_says_only_what_differs_from_the_contracts_defaults() -> None:
    assert parse(f"\n{lines({})}") == [ListedJob(2, site.MLP, "inductor", "", "", {}, {}, None)]


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"benchmark": "mlp"}', lines({"measure": {"budget_s": -1}})]
)
def test_invalid_line_is_named(text: str) -> None:
    with pytest.raises(PlanError, match="Line 2 of the list is not a job"):
        parse(f"{lines({})}\n{text}")


@pytest.mark.django_db
def test_jobs_of_a_list_keep_order_and_settings_of_its_lines() -> None:
    jobs = trigger(lines({"timeout_s": 30}, {"config": "eager", "measure": {"starts": []}}))
    assert [job.config.name for job in jobs] == ["inductor", "eager"]
    assert [job.spec["timeout_s"] for job in jobs] == [30, 900.0]
    assert [job.spec["measure"] for job in jobs] == [{}, {"starts": []}]
    assert [job.position for job in Run.objects.get().jobs.order_by("position")] == [0, 1]


@pytest.mark.django_db
def test_line_with_a_variant_gets_its_own_build() -> None:
    trigger(lines({}, {"variant": NO_FUSION}, {}))
    builds = [run.build for run in Run.objects.order_by("pk")]
    assert [build.variant for build in builds] == [{}, NO_FUSION, {}]
    assert builds[1].base == builds[0] == builds[2]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"benchmark": site.MLP.replace("mlp", "mpl")}, "Did you mean mlp"),
        ({"config": "inductr"}, "Did you mean inductor"),
        ({"device": "cuda:0"}, "Line 1 is for cuda:0, and cpu-2c measures on cpu"),
        ({"build": "2.12.0"}, "Unknown torch build"),
    ],
)
def test_nothing_is_planned_where_a_line_cannot_be_measured(
    line: dict[str, str], message: str
) -> None:
    with pytest.raises(PlanError, match=message):
        trigger(lines(line))
    assert not Run.objects.exists()


@pytest.mark.django_db
def test_a_result_file_is_what_the_worker_delivered() -> None:
    worker = site.worker()
    job = site.running_job(worker)
    arm = {
        "unit": "ms",
        "inner": 10,
        "values": [2.0, 2.1],
        "cpu_ms": [1.0, 1.1],
        "order": [1, 0],
    }
    delivered = site.result(job, samples={"eager": arm})
    ingest(job_id=job.pk, worker=worker, body=site.delivery(job, delivered))
    assert result_file(job.pk) == delivered


@pytest.mark.django_db
def test_a_result_file_is_taken_in_by_another_site() -> None:
    worker = site.worker()
    job = site.running_job(worker)
    ingest(job_id=job.pk, worker=worker, body=site.delivery(job, site.result(job)))
    body = json.dumps(result_file(job.pk)).encode()
    job.delete()
    assert import_results(sources=[ImportSource("one.json", body)]).added == 1


@pytest.mark.django_db
def test_a_job_that_brought_no_result_has_no_result_file() -> None:
    worker = site.worker()
    job = site.running_job(worker)
    ingest(
        job_id=job.pk,
        worker=worker,
        body=site.delivery(job, None, "timeout", message="killed after 900 s"),
    )
    assert result_file(job.pk) is None


def measure_list(text: str, folder: Path, *options: str) -> str:
    (folder / "list.jsonl").write_text(text)
    output = io.StringIO()
    call_command(
        "measure_list",
        str(folder / "list.jsonl"),
        str(folder / "out"),
        *options,
        stdout=output,
        stderr=output,
    )
    return output.getvalue()


@pytest.mark.django_db
def test_a_list_is_cancelled_when_its_minutes_are_over(tmp_path: Path) -> None:
    site.worker()
    where = ("--build", site.BUILD, "--track", site.track().key)
    with pytest.raises(CommandError, match="measures them again"):
        measure_list(lines({}), tmp_path, "--minutes", "0", *where)
    job = Job.objects.get()
    assert job.state == JobState.CANCELLED
    assert "minutes" in job.message
    assert "person" not in job.message


@pytest.mark.django_db
def test_line_with_a_result_is_not_measured_again(tmp_path: Path) -> None:
    site.worker()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / f"001-{site.MLP}-inductor.json").write_text("{}")
    output = measure_list(lines({}), tmp_path, "--build", site.BUILD, "--track", site.track().key)
    assert "0 of 0 results" in output
    assert not Job.objects.exists()


@pytest.mark.django_db
def test_list_without_any_worker_says_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No worker has said hello"):
        measure_list(lines({}), tmp_path, "--minutes", "0")
