"""Every list of the API, page by page to its end and back, whatever its rows have in common."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.db.models import Model
from django_celery_beat.models import CrontabSchedule

from dashboard.models import Bisection, Comparison, Job, Schedule
from dashboard.site.api.root import api
from tests.builders import alerting, comparisons, site
from tests.builders.api import Caller, token

pytestmark = pytest.mark.django_db
ROWS = 5


@pytest.fixture
def caller() -> Caller:
    return Caller(token("read"))


def of_one_moment(_: int) -> None:
    alerting.measure({"latency_ms": 2.0}, 0)


def schedule(number: int) -> None:
    Schedule.objects.create(
        name=f"s{number}",
        crontab=CrontabSchedule.objects.create(),
        track=site.track(),
        machine=site.machine(),
    )


def sides() -> dict[str, Any]:
    return {"base": site.build(comparisons.BASE), "new": site.build(comparisons.NEW)}


def search(_: int) -> None:
    job = alerting.measure({"latency_ms": 2.0}, 0)
    builds = sides()
    Bisection.objects.create(
        **builds,
        low=builds["base"],
        high=builds["new"],
        machine=site.machine(),
        benchmark=job.benchmark,
        config=job.config,
        metric="latency_ms",
    )


# Of each list: what adds a row, by the number of the row
LISTS: Mapping[str, Callable[[int], Model | None]] = {
    "alerts": lambda _: alerting.group(),
    "benchmarks": lambda _: site.run(),
    "bisections": search,
    "builds": lambda number: site.build(f"2.13.{number}"),
    "comparisons": lambda _: Comparison.objects.create(machine=site.machine(), **sides()),
    "configs": lambda _: site.run(),
    "jobs": of_one_moment,
    "machines": lambda number: site.machine(f"m{number}"),
    "runs": of_one_moment,
    "schedules": schedule,
    "series": lambda number: alerting.measured([2.0], ("latency_ms", "latency_p90_ms")[number % 2]),
    "series/{pk}/data": of_one_moment,
    "tracks": lambda number: site.track(f"t{number}"),
}


def test_every_list_is_followed_here() -> None:
    lists = set()
    for path, calls in api.get_openapi_schema()["paths"].items():
        parameters = calls.get("get", {}).get("parameters", [])
        if "cursor" in {parameter["name"] for parameter in parameters}:
            lists.add(path.removeprefix("/api/v1/"))
    assert lists == set(LISTS)


@pytest.mark.parametrize("name", LISTS)
def test_pages_have_each_row_once_in_one_order(caller: Caller, name: str) -> None:
    for number in range(ROWS):
        LISTS[name](number)
    path = name
    if "{pk}" in name:
        [series] = caller.all("series", metric="latency_ms")
        path = name.format(pk=series["id"])
    whole = caller.get(path, page_size=1_000)["results"]
    assert len(whole) > 2 or name == "series"
    for size in (1, 2, 3):
        assert caller.all(path, page_size=size) == whole


def test_run_of_450_jobs_is_followed_to_its_end_and_back(caller: Caller) -> None:
    job = site.run().jobs.get()
    copies = []
    for position in range(1, 450):
        fields = {"run": job.run, "benchmark": job.benchmark, "config": job.config}
        copies.append(Job(**fields, position=position, planned_at=job.planned_at))
    Job.objects.bulk_create(copies)
    whole = caller.get("jobs", run=job.run_id, page_size=1_000)["results"]
    assert len(whole) == 450
    for size in (100, 7, 449):
        assert caller.all("jobs", run=job.run_id, page_size=size) == whole

    page = caller.get("jobs", run=job.run_id, page_size=200)
    for _ in range(2):
        page = follow(caller, page["next"])
    backwards = page["results"]
    while page["previous"]:
        page = follow(caller, page["previous"])
        backwards = page["results"] + backwards
    assert backwards == whole


def follow(caller: Caller, address: str) -> Any:
    return caller.client.get(address.removeprefix("http://testserver")).json()
