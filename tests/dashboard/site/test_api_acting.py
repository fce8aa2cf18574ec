"""Actions of the API: runs, comparisons, bisections, results. Each needs its scope and the
account's permission.
"""

import gzip
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

from dashboard.comparisons.services.comparisons import settle
from dashboard.models import Job, JobState, Result, Run
from dashboard.runs.selectors.schedules import in_words
from dashboard.runs.services.schedules import ensure_nightly
from tests.builders import comparisons, releases, site
from tests.builders.api import API, Caller, names, token

IMPORTS = Path(__file__).parents[2] / "data" / "imports"
pytestmark = pytest.mark.django_db


@pytest.fixture
def caller() -> Caller:
    return Caller(token())


# --- Runs
def test_run_is_triggered_by_the_owner_of_the_token(caller: Caller) -> None:
    site.worker()
    site.track()
    made = caller.post("runs", {"build": site.BUILD, "benchmarks": [site.MLP]}, expect=201)
    assert made["created_by"] == "ada"
    assert made["jobs"]["waiting"] == 2
    assert made["is_active"]
    assert Run.objects.get().pk == made["id"]


def test_unplannable_run_lists_the_alternatives(caller: Caller) -> None:
    site.worker()
    site.track()
    error = caller.post("runs", {"build": site.BUILD, "benchmarks": [site.MLP[:-1]]}, expect=422)
    assert f"Did you mean {site.MLP}" in error["detail"]


@pytest.mark.parametrize(
    ("field", "meant"), [("benchmark", "benchmarks"), ("config", "configs"), ("family", "families")]
)
def test_field_that_does_not_exist_measures_nothing(caller: Caller, field: str, meant: str) -> None:
    site.worker()
    site.track()
    for path in ("runs", "runs/plan"):
        error = caller.post(path, {"build": site.BUILD, field: ["x"]}, expect=422)
        assert error["detail"] == f"Unknown field '{field}'. Did you mean {meant}?"
    assert not Run.objects.exists()


@pytest.mark.parametrize("path", ["runs", "runs/plan"])
def test_run_and_its_plan_refuse_the_same_tracks(caller: Caller, path: str) -> None:
    site.worker()
    site.track("nightly")
    error = caller.post(path, {"build": site.BUILD, "track": "nightyl"}, expect=422)
    assert "Unknown track 'nightyl'. Did you mean nightly?" in error["detail"]


def test_plan_measures_nothing(caller: Caller) -> None:
    site.worker()
    site.track()
    plan = caller.post("runs/plan", {"build": site.BUILD, "families": ["llm"]})
    assert plan["cases"] == [[site.GPT2, "eager"], [site.GPT2, "inductor"]]
    assert not Run.objects.exists()


def test_run_is_triggered_for_the_models_that_are_named(caller: Caller) -> None:
    site.worker()
    site.track()
    body = {"build": site.BUILD, "models": ["gpt2"]}
    assert caller.post("runs/plan", body)["jobs"] == 2
    caller.post("runs", body, expect=201)
    assert set(Job.objects.values_list("benchmark__name", flat=True)) == {site.GPT2}


def test_run_is_followed_and_cancelled(caller: Caller) -> None:
    run = site.run(site.MLP, configs=["eager", "inductor"])
    assert caller.get(f"runs/{run.pk}")["jobs"]["total"] == 2
    assert caller.post(f"runs/{run.pk}/cancel") == {"jobs": 2}
    after = caller.get(f"runs/{run.pk}")
    assert after["state"] == "cancelled"
    assert after["jobs"]["cancelled"] == 2
    assert not after["is_active"]


def test_jobs_without_a_result_are_requeued(caller: Caller) -> None:
    run = site.run()
    Job.objects.update(state=JobState.LOST)
    assert caller.post(f"runs/{run.pk}/retry") == {"jobs": 1}


def test_runs_are_filtered_as_on_their_page(caller: Caller) -> None:
    run = site.run()
    assert names(caller.all("runs", machine="cpu-2c", state=run.state), "id") == [run.pk]
    assert caller.all("runs", machine="other") == []


# --- Comparisons
def test_comparison_is_started_for_the_models_that_are_named(caller: Caller) -> None:
    site.worker()
    site.build(comparisons.BASE)
    site.build(comparisons.NEW)
    request = {
        "base": "2.11.0",
        "new": "2.13.0",
        "models": ["gpt2"],
        "repeats": 2,
    }
    made = caller.post("comparisons", request, expect=201)
    assert made["base"] == comparisons.BASE
    assert made["new"] == comparisons.NEW
    assert made["jobs"]["total"] == 8
    assert set(Job.objects.values_list("benchmark__name", flat=True)) == {site.GPT2}


def test_unknown_model_is_refused_with_similar_names(caller: Caller) -> None:
    site.worker()
    error = caller.post(
        "comparisons",
        {
            "base": "a",
            "new": "b",
            "models": ["gtp2"],
        },
        expect=422,
    )
    assert "Did you mean gpt2?" in error["detail"]


def finished(*latencies: float) -> str:
    """The id of a comparison whose new build takes 10% longer, unless told otherwise."""
    base, new = latencies or (2.0, 2.2)
    comparison = comparisons.started_comparison(repeats=6)
    for number, job in enumerate(comparisons.comparison_jobs(comparison)):
        noise = 1 + 0.001 * (number // 2 % 3)
        comparisons.deliver_result(job, (base if job.run.build == comparison.base else new) * noise)
    settle(comparison_id=comparison.pk)
    return str(comparison.uuid)


def test_comparison_is_followed_to_its_report(caller: Caller) -> None:
    pk = finished()
    assert caller.get(f"comparisons/{pk}")["state"] == "completed"
    assert caller.get(f"comparisons/{pk}/report")["answer"] == "worse, certain"
    text = caller.client.get(f"{API}comparisons/{pk}/report.md").content.decode()
    assert text.startswith(f"# Move from {comparisons.BASE} to {comparisons.NEW}? On cpu-2c")


def test_gate_of_a_comparison_finds_the_regression(caller: Caller) -> None:
    gate = caller.get(f"comparisons/{finished()}/gate")
    assert gate["verdict"] == "worse"
    assert gate["exit_code"] == 1
    assert len(gate["worse"]) == 2
    assert "10.0% slower" in gate["markdown"]


def test_gate_on_an_unknown_metric_is_refused(caller: Caller) -> None:
    error = caller.get(f"comparisons/{finished()}/gate", expect=422, metric="latency")
    assert "latency_ms" in error["detail"]


def test_comparison_is_extended_and_cancelled(caller: Caller) -> None:
    pk = comparisons.started_comparison(repeats=1).uuid
    assert caller.post(f"comparisons/{pk}/more", {"repeats": 2})["jobs"]["total"] == 12
    assert caller.post(f"comparisons/{pk}/cancel") == {"jobs": 12}


# --- Bisections
SEARCH = {
    "base": "2.11.0",
    "new": "2.13.0",
    "benchmark": site.MLP,
    "config": "inductor",
}


def test_bisection_is_started_followed_and_cancelled(caller: Caller) -> None:
    comparisons.three_builds()
    made = caller.post("bisections", SEARCH, expect=201)
    assert made["low"] == comparisons.BASE
    assert made["high"] == comparisons.NEW
    assert made["created_by"] == "ada"
    assert caller.get(f"bisections/{made['id']}")["jobs"]["total"] == 6
    ended = caller.post(f"bisections/{made['id']}/cancel")
    assert ended["state"] == "cancelled"
    assert not ended["is_active"]
    assert ended["jobs"]["cancelled"] == 6
    assert names(caller.all("bisections", state="cancelled", benchmark=site.MLP), "id") == [
        made["id"]
    ]


def test_bisection_without_builds_in_between_is_refused(caller: Caller) -> None:
    comparisons.three_builds()
    error = caller.post("bisections", {**SEARCH, "new": "2.12.0"}, expect=422)
    assert "No build lies between" in error["detail"]


# --- Schedules
def test_schedule_is_read_and_triggered_at_once(caller: Caller) -> None:
    schedule = ensure_nightly(machine=site.worker().machine, track=site.track())
    [found] = caller.all("schedules")
    assert found["name"] == schedule.name
    assert found["when"] == in_words(schedule.crontab)
    assert "at 03:00" in found["when"]
    run = caller.post(f"schedules/{schedule.pk}/trigger", expect=201)
    assert run["purpose"] == "scheduled"
    assert run["created_by"] == "ada"
    assert run["label"] == schedule.name


def test_schedule_whose_run_has_not_ended_says_so(caller: Caller) -> None:
    schedule = ensure_nightly(machine=site.worker().machine, track=site.track())
    run = caller.post(f"schedules/{schedule.pk}/trigger", expect=201)
    error = caller.post(f"schedules/{schedule.pk}/trigger", expect=422)
    assert f"Run {run['id']} of this schedule has not ended" in error["detail"]


# --- Results
def posted(
    caller: Caller,
    body: bytes,
    query: str = "",
    kind: str = "application/json",
) -> Any:
    return caller.client.post(f"{API}results{query}", body, content_type=kind)


def lines() -> bytes:
    rng = np.random.default_rng(1)
    passed = releases.Release("llm")
    made = [
        releases.document(rng, releases.BASE, "gpt2", "training", "eager", passed, number)
        for number in range(2)
    ]
    return b"\n".join(json.dumps(document).encode() for document in made)


def test_result_is_imported_once(caller: Caller) -> None:
    body = lines().splitlines()[0]
    assert posted(caller, body, "?machine=lab&judge=true").json() == {
        "added": 1,
        "known": 0,
        "elsewhere": [],
        "refused": [],
        "left_out": {},
    }
    assert posted(caller, gzip.compress(body)).json() == {
        "added": 0,
        "known": 1,
        "elsewhere": [],
        "refused": [],
        "left_out": {},
    }
    assert Result.objects.get().job.state == JobState.DONE


def test_results_are_imported_line_by_line_and_an_invalid_one_is_reported(caller: Caller) -> None:
    body = lines() + b'\n{"schema": "result.v1"}\n'
    taken = posted(caller, body, kind="application/x-ndjson").json()
    assert taken["added"] == 2
    assert [refusal["source"] for refusal in taken["refused"]] == ["body, line 3"]


def test_dry_run_changes_nothing(caller: Caller) -> None:
    assert posted(caller, lines(), "?dry_run=true", "application/x-ndjson").json()["added"] == 2
    assert not Result.objects.exists()


def test_file_of_another_tool_is_imported_with_the_missing_fields(caller: Caller) -> None:
    body = (IMPORTS / "torchao_first.json").read_bytes()
    said = {
        "machine": "lab",
        "build": "2.13.0",
        "at": "2026-11-20T22:00",
        "config": "inductor",
    }
    named = {"metric": ["Quantized Fwd Time (ms)=latency_ms", "Fwd Speedup (x)=speedup"]}
    taken = posted(caller, body, f"?{urlencode({**said, **named}, doseq=True)}").json()
    assert taken["added"] == 6
    assert taken["left_out"] == {"Bfloat16 Fwd Time (ms)": 6}
    assert set(Job.objects.values_list("config__name", "run__build__label")) == {
        ("inductor", "2.13.0")
    }


def test_own_numbers_are_imported_by_a_mapping_and_said_where_they_are(caller: Caller) -> None:
    mapping = 'benchmark = "{model}"\nmetrics = [{name = "ms", metric = "latency_ms"}]'
    query = {"file": "own.csv", "build": "2.13.0", "at": "2026-11-20", "map": mapping}
    body = b"model,ms\nllama,20.1\n"
    assert posted(caller, body, f"?{urlencode(query)}&machine=lab").json()["added"] == 1
    again = posted(caller, body, f"?{urlencode(query)}&machine=lab&track=other").json()
    assert again["elsewhere"] == ["1 on track import, machine lab"]
    assert posted(caller, body, "?map=metrics").status_code == 422


def test_csv_of_pytorch_is_imported_under_its_name(caller: Caller) -> None:
    name = "inductor_torchbench_amp_training_cuda_performance.csv"
    query = urlencode(
        {
            "file": name,
            "build": "2.13.0",
            "at": "2026-11-20",
            "machine": "lab",
        }
    )
    assert posted(caller, (IMPORTS / name).read_bytes(), f"?{query}").json()["added"] == 3


def test_unknown_metric_is_refused_with_similar_names(caller: Caller) -> None:
    answer = posted(caller, lines(), f"?{urlencode({'metric': 'time=latency'})}")
    assert answer.status_code == 422
    assert "Did you mean latency_ms" in answer.json()["detail"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\x1f\x8b\x08broken", b"\xff"])
def test_invalid_result_is_refused_with_the_reason(caller: Caller, body: bytes) -> None:
    answer = posted(caller, body)
    assert answer.status_code == 422
    assert bool(answer.json()["detail"])
