"""The typed client, against a real site."""

from pathlib import Path

import numpy as np
import pytest

from compilewatch_client import ApiError, Client, NotConfigured, Unreachable
from dashboard.runs.services.schedules import ensure_nightly
from tests.builders import alerting, comparisons, releases, site
from tests.builders.local_site import free_port

IMPORTS = Path(__file__).parents[1] / "data" / "imports"
pytestmark = pytest.mark.django_db(transaction=True)


def test_series_and_their_data_are_read(client: Client) -> None:
    alerting.measure({"latency_ms": 2.0}, 0)
    alerting.measure({"latency_ms": 3.0}, 1)
    [series] = client.series(model="mlp", metric="latency_ms")
    assert (series["value"], series["unit"]) == (3.0, "ms")
    assert [one["value"] for one in client.data(series["id"])] == [2.0, 3.0]


def test_a_long_list_is_read_to_its_end(client: Client) -> None:
    for number in range(120):
        site.machine(f"m{number:03}")
    assert len({machine["key"] for machine in client.machines()}) == 120


def test_a_figure_is_ready_for_plotly(client: Client) -> None:
    alerting.measure({"latency_ms": 2.0}, 0)
    assert client.figure(site.MLP, metric="latency_ms", config=["inductor"])["data"]


def test_a_run_is_planned_triggered_followed_and_cancelled(client: Client) -> None:
    site.worker()
    site.track()
    assert len(client.plan(site.BUILD, benchmarks=[site.MLP])["cases"]) == 2
    run = client.trigger(site.BUILD, benchmarks=[site.MLP], label="mine")
    assert client.cancel_run(run["id"]) == 2
    assert client.run(run["id"])["state"] == "cancelled"


def test_what_is_followed_is_not_sent_again_while_it_stays_as_it_was(client: Client) -> None:
    run = site.run()
    first = client.run(run.pk)
    assert client.run(run.pk) is first
    client.cancel_run(run.pk)
    assert client.run(run.pk)["state"] == "cancelled"


def test_a_job_tells_its_result_and_samples(client: Client) -> None:
    job = alerting.measure({"latency_ms": 2.0}, 0)
    assert client.job(str(job.pk))["result"]["status"] == "pass"
    assert client.samples(str(job.pk))[0]["values"] == [2.0, 2.1, 1.9]


def test_a_comparison_is_started_and_told(client: Client) -> None:
    comparisons.started_comparison(repeats=1)
    made = client.compare("2.11.0", "2.13.0", benchmarks=[site.MLP], repeats=1)
    assert client.comparison(made["id"])["jobs"]["total"] == 4
    assert client.report(made["id"])["answer"] == "Not known yet"
    assert client.gate(made["id"])["exit_code"] == 3
    assert client.cancel_comparison(made["id"]) == 4


def test_an_alert_is_moved(client: Client) -> None:
    group = alerting.group()
    assert client.triage(group.pk, "move", to="acknowledged", why="seen")["state"] == "acknowledged"
    assert client.triage(group.pk, "assign", to=None)["assignee"] is None
    assert [one["state"] for one in client.alerts()] == ["acknowledged"]


def test_a_search_is_started_and_cancelled(client: Client) -> None:
    comparisons.three_builds()
    made = client.bisect("2.11.0", "2.13.0", benchmark=site.MLP, config="inductor")
    assert (made["state"], made["is_active"], made["jobs"]["total"]) == ("running", True, 6)
    assert client.cancel_bisection(made["id"])["state"] == "cancelled"
    assert [one["id"] for one in client.bisections(state="cancelled")] == [made["id"]]


def test_what_is_scheduled_is_triggered(client: Client) -> None:
    schedule = ensure_nightly(machine=site.worker().machine, track=site.track())
    [found] = client.schedules()
    assert (found["id"], found["enabled"], found["track"]) == (schedule.pk, True, "local")
    assert client.trigger_schedule(found["id"])["purpose"] == "scheduled"


def test_a_file_of_another_tool_is_posted(client: Client) -> None:
    taken = client.post_file(IMPORTS / "v3.json", track="hud")
    assert (taken["added"], taken["left_out"]) == (3, {"cudagraph_skips": 3})


def test_results_are_posted_once(client: Client) -> None:
    rng = np.random.default_rng(1)
    passed = releases.Release("llm")
    results = [
        releases.document(rng, releases.BASE, "gpt2", "training", "eager", passed, one)
        for one in range(2)
    ]
    assert client.post_results(results, machine="lab")["added"] == 2
    assert client.post_results(results, dry_run=True) == {
        "added": 0,
        "known": 2,
        "refused": [],
        "left_out": {},
    }


def test_a_refusal_carries_the_sites_own_words(client: Client) -> None:
    with pytest.raises(ApiError, match="There is no run") as refusal:
        client.run(99)
    assert refusal.value.status == 404


def test_a_site_that_does_not_answer_is_named() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with Client(url) as client, pytest.raises(Unreachable, match=f"{url} did not answer"):
        client.run(1)


def test_without_an_address_the_ways_to_give_one_are_told() -> None:
    with pytest.raises(NotConfigured, match="COMPILEWATCH_URL"):
        Client()
