"""Imported results: what one device measured without a longer break is one session."""

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dashboard.models import BuildLevel, Run
from dashboard.results.core.result_format import ResultDocument, parse_result
from dashboard.results.core.sessions import Sessions
from dashboard.results.core.untrusted import parse_json
from dashboard.results.services.import_existing import ImportSource
from dashboard.results.services.imports import import_results

GOLDEN = Path(__file__).parents[2] / "data" / "golden"
PASSED = json.loads(
    next(path for path in GOLDEN.glob("result.*.json") if "pass" in path.name).read_text()
)


def document(began: str, device: str = "GPU-1", minutes: float = 1) -> dict[str, Any]:
    """A result of a job that began then and took so many minutes."""
    start = datetime.fromisoformat(began)
    job = {**PASSED["job"], "job_id": f"{start:%Y%m%d-%H%M}"}
    job.pop("planned_at", None)
    machine = {**PASSED["environment"]["machine"], "device_id": device}
    return {
        **PASSED,
        "job": job,
        "environment": {**PASSED["environment"], "machine": machine},
        "started_at": start.isoformat(),
        "finished_at": (start + timedelta(minutes=minutes)).isoformat(),
    }


def result(began: str, device: str = "GPU-1", minutes: float = 1) -> ResultDocument:
    return parse_result(parse_json(json.dumps(document(began, device, minutes)).encode()))


BEFORE, AFTER = "2026-11-26T23:58:00+00:00", "2026-11-27T00:01:00+00:00"


def test_what_goes_on_over_midnight_belongs_to_the_day_on_which_it_began() -> None:
    results = [result(AFTER), result(BEFORE)]
    sessions = Sessions(results)
    assert [sessions.name(each) for each in results] == ["2026-11-26", "2026-11-26"]


def test_what_has_a_name_keeps_it() -> None:
    """Files may be imported in another order than they were measured in."""
    early, late = result(BEFORE), result(AFTER)
    sessions = Sessions([late])
    sessions.add([early])
    assert [sessions.name(early), sessions.name(late)] == ["2026-11-26", "2026-11-27"]


@pytest.mark.parametrize(
    ("began", "device"),
    [("2026-11-27T01:30:00+00:00", "GPU-1"), (AFTER, "GPU-2")],
    ids=["after a break", "another device"],
)
def test_other_results_after_midnight_are_of_their_own_day(began: str, device: str) -> None:
    results = [result(BEFORE), result(began, device)]
    assert Sessions(results).name(results[1]) == "2026-11-27"


def test_a_machine_that_never_rests_begins_a_new_session() -> None:
    start = datetime.fromisoformat("2026-11-26T23:00:00+00:00")
    moments = [(start + timedelta(minutes=50 * step)).isoformat() for step in range(20)]
    results = [result(moment, minutes=50) for moment in moments]
    sessions = Sessions(results)
    names = [sessions.name(each) for each in results]
    assert names == sorted(names)
    assert set(names) == {"2026-11-26", "2026-11-27"}
    assert names.count("2026-11-26") == 15  # those that begin within twelve hours


@pytest.mark.django_db
def test_imported_results_share_a_session_over_midnight() -> None:
    bodies = [json.dumps(document(began)).encode() for began in (BEFORE, AFTER)]
    import_results(sources=[ImportSource("a", bodies[0]), ImportSource("b", bodies[1])])
    sessions = BuildLevel.objects.filter(metric="latency_ms").values_list("session", "count")
    assert [*sessions] == [("2026-11-26", 2)]
    assert sorted(Run.objects.values_list("session", flat=True)) == ["", "2026-11-26"]
