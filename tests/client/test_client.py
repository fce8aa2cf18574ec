"""The typed client, against a real site."""

from pathlib import Path

import numpy as np
import pytest

from compilewatch_client import ApiError, Client, NotConfigured, Unreachable
from dashboard.runs.services.schedules import ensure_nightly
from tests.builders import alerting, releases, site
from tests.builders import comparisons as comparing
from tests.builders.local_site import free_port

IMPORTS = Path(__file__).parents[1] / "data" / "imports"
pytestmark = pytest.mark.django_db(transaction=True)


def test_series_and_their_data_are_read(client: Client) -> None:
    alerting.measure({"latency_ms": 2.0}, 0)
    alerting.measure({"latency_ms": 3.0}, 1)
    [series] = client.series(model="mlp", metric="latency_ms")
    first, second = client.data(series["id"])
    assert first["value"] == 2.0
    assert second["value"] == 3.0
    assert series["value"] == pytest.approx(6**0.5)  # one build: the mean of its processes
    assert series["unit"] == "ms"


def test_long_list_is_read_to_its_end(client: Client) -> None:
    for number in range(120):
        site.machine(f"m{number:03}")
    keys = {machine["key"] for machine in client.machines()}
    assert len(keys) == 120


def test_figure_is_ready_for_plotly(client: Client) -> None:
    alerting.measure({"latency_ms": 2.0}, 0)
    figure = client.figure(site.MLP, metric="latency_ms", config=["inductor"])
    assert figure["data"]


def test_run_is_planned_triggered_followed_and_cancelled(client: Client) -> None:
    site.worker()
    site.track()
    plan = client.plan(site.BUILD, benchmarks=[site.MLP])
    assert len(plan["cases"]) == 2
    run = client.trigger(site.BUILD, benchmarks=[site.MLP], label="mine")
    assert client.cancel_run(run["id"]) == 2
    run = client.run(run["id"])
    assert run["state"] == "cancelled"


def test_unchanged_run_is_not_sent_again(client: Client) -> None:
    run = site.run()
    first = client.run(run.pk)
    assert client.run(run.pk) is first
    client.cancel_run(run.pk)
    second = client.run(run.pk)
    assert second["state"] == "cancelled"


def test_job_has_its_result_and_samples(client: Client) -> None:
    uuid = str(alerting.measure({"latency_ms": 2.0}, 0).pk)
    job = client.job(uuid)
    arm = client.samples(uuid)[0]
    assert job["result"] is not None
    assert job["result"]["status"] == "pass"
    assert arm["values"] == [2.0, 2.1, 1.9]


def test_comparison_is_started_reported_and_cancelled(client: Client) -> None:
    comparing.started_comparison(repeats=1)
    comparison = client.compare("2.11.0", "2.13.0", benchmarks=[site.MLP], repeats=1)
    uuid = comparison["id"]
    comparison = client.comparison(uuid)
    report = client.report(uuid)
    gate = client.gate(uuid)
    assert comparison["jobs"]["total"] == 4
    assert report["answer"] == "unclear"
    assert gate["exit_code"] == 3
    assert client.cancel_comparison(uuid) == 4


def test_alert_is_triaged(client: Client) -> None:
    group = alerting.group()
    client.triage(group.pk, "move", to="acknowledged", why="seen")
    alert = client.triage(group.pk, "assign", to=None)
    assert alert["state"] == "acknowledged"
    assert alert["assignee"] is None


def test_alerts_are_listed(client: Client) -> None:
    group = alerting.group()
    [alert] = client.alerts()
    assert alert["id"] == group.pk


def test_bisection_is_started_and_cancelled(client: Client) -> None:
    comparing.three_builds()
    bisection = client.bisect("2.11.0", "2.13.0", benchmark=site.MLP, config="inductor")
    assert bisection["state"] == "running"
    assert bisection["is_active"]
    assert bisection["jobs"]["total"] == 6
    client.cancel_bisection(bisection["id"])
    [cancelled] = client.bisections(state="cancelled")
    assert cancelled["id"] == bisection["id"]


def test_schedule_is_triggered(client: Client) -> None:
    nightly = ensure_nightly(machine=site.worker().machine, track=site.track())
    [schedule] = client.schedules()
    assert schedule["id"] == nightly.pk
    assert schedule["enabled"]
    assert schedule["track"] == "local"
    run = client.trigger_schedule(nightly.pk)
    assert run["purpose"] == "scheduled"


def test_file_of_another_tool_is_posted(client: Client) -> None:
    receipt = client.post_file(IMPORTS / "v3.json", track="hud")
    assert receipt["added"] == 3
    assert receipt["left_out"] == {}


def test_results_are_posted_once(client: Client) -> None:
    rng = np.random.default_rng(1)
    release = releases.Release("llm")
    case = ("gpt2", "training", "eager")
    results = [releases.document(rng, releases.BASE, *case, release, repeat) for repeat in range(2)]
    first = client.post_results(results, machine="lab")
    second = client.post_results(results, dry_run=True)
    assert first["added"] == 2
    assert second == {
        "added": 0,
        "known": 2,
        "elsewhere": [],
        "refused": [],
        "left_out": {},
    }


def test_refusal_carries_the_sites_own_words(client: Client) -> None:
    with pytest.raises(ApiError, match="There is no run") as refusal:
        client.run(99)
    assert refusal.value.status == 404


def test_unreachable_site_is_named() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with Client(url) as client, pytest.raises(Unreachable, match=f"{url} did not answer"):
        client.run(1)


def test_missing_address_is_reported_with_how_to_give_one() -> None:
    with pytest.raises(NotConfigured, match="COMPILEWATCH_URL"):
        Client()
