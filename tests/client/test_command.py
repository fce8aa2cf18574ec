"""The command `compilewatch`, against a real site: what it prints, and how it ends."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection

from compilewatch_client import terminal
from dashboard.comparisons.services.bisections import advance_all
from dashboard.comparisons.services.comparisons import settle_all
from dashboard.models import Bisection, Job, Run
from dashboard.runs.selectors.runs import WAITING
from dashboard.runs.services.schedules import ensure_nightly
from tests.builders import alerting, comparisons, site
from tests.client.conftest import RunCommand

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("online")]

COMPARE = ("compare", "2.11.0", "2.13.0", "--benchmark", site.MLP)
GATE = ("gate", "--base", "2.11.0", "--new", "2.13.0", "--model", "mlp")
BISECT = ("bisect", "2.11.0", "2.13.0", "--benchmark", site.MLP, "--config", "inductor")


@pytest.fixture(autouse=True)
def short_poll_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "POLL_INTERVAL_S", 0.05)


@contextmanager
def measured_meanwhile(latency: dict[str, float]) -> Iterator[None]:
    """Measures the jobs that the command triggers; latency: in milliseconds, by build."""

    def work() -> None:
        try:
            while not Job.objects.exists():
                threading.Event().wait(0.05)
            waiting = Job.objects.filter(state__in=WAITING).order_by("planned_at")
            while jobs := list(waiting.select_related("run__build", "config", "benchmark")):
                for number, job in enumerate(jobs):
                    spread = 1 + 0.001 * (number // 2 % 3)
                    comparisons.deliver_result(job, latency[job.run.build.label] * spread)
                settle_all()
            advance_all()
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    yield
    thread.join()


def both_builds() -> None:
    site.worker()
    site.track()
    site.build(comparisons.BASE)
    site.build(comparisons.NEW)


# --- run, watch


def test_run_is_triggered_followed_and_reported(compilewatch: RunCommand) -> None:
    both_builds()
    with measured_meanwhile({site.BUILD: 2.0}):
        result = compilewatch("run", site.BUILD, "--benchmark", site.MLP)
    assert result.code == 0
    assert result.out.startswith(f"run {Run.objects.get().pk} completed: 2 passed\n")


def test_dry_run_prints_the_cases_and_measures_nothing(compilewatch: RunCommand) -> None:
    both_builds()
    result = compilewatch("run", site.BUILD, "--family", "llm", "--dry-run")
    assert f"{site.GPT2}  eager" in result.out
    assert "2 jobs on cpu-2c" in result.out
    assert not Run.objects.exists()


def test_run_is_narrowed_to_a_model(compilewatch: RunCommand) -> None:
    both_builds()
    result = compilewatch("run", site.BUILD, "--model", "gpt2", "--dry-run")
    assert f"{site.GPT2}  eager" in result.out
    assert "2 jobs on cpu-2c" in result.out


def test_watch_lists_failures_and_exits_with_1(compilewatch: RunCommand) -> None:
    run = alerting.measure(None, 0).run
    result = compilewatch("watch", str(run.pk))
    assert result.code == 1
    assert "timeout" in result.out


def test_message_of_a_worker_is_printed_as_text(compilewatch: RunCommand) -> None:
    job = alerting.measure(None, 0)
    Job.objects.filter(pk=job.pk).update(message="cannot open [/usr/lib/x] [float32] \x1b[31mred")
    result = compilewatch("watch", str(job.run.pk))
    assert result.code == 1
    assert "cannot open [/usr/lib/x] [float32] [31mred" in result.out


def test_misspelt_benchmark_is_refused_with_a_suggestion(compilewatch: RunCommand) -> None:
    both_builds()
    result = compilewatch("run", site.BUILD, "--benchmark", site.MLP[:-1])
    assert result.code == 2
    assert result.out == ""
    assert f"Did you mean {site.MLP}" in result.err


# --- compare, upgrade-report, gate


def test_compare_reports_what_changed(compilewatch: RunCommand) -> None:
    both_builds()
    with measured_meanwhile({comparisons.BASE: 2.0, comparisons.NEW: 1.8}):
        result = compilewatch(*COMPARE, "--repeats", "3")
    assert result.code == 0
    assert "Better, certain. mlp inference: latency" in result.out
    assert "10.0% faster" in result.out
    assert "-10.0%" in result.out


def test_upgrade_report_is_printed_as_markdown(compilewatch: RunCommand) -> None:
    comparison = comparisons.started_comparison(repeats=1)
    result = compilewatch("upgrade-report", str(comparison.uuid), "--markdown")
    assert result.out.startswith(
        f"# Move from {comparisons.BASE} to {comparisons.NEW}? On cpu-2c\n"
    )


@pytest.mark.parametrize(
    ("latency", "code", "title"), [(2.0, 0, "nothing got worse"), (2.2, 1, "worse")]
)
def test_exit_code_of_the_gate_is_the_sites_answer(
    compilewatch: RunCommand, latency: float, code: int, title: str
) -> None:
    both_builds()
    with measured_meanwhile({comparisons.BASE: 2.0, comparisons.NEW: latency}):
        result = compilewatch(*GATE, "--repeats", "3")
    assert result.code == code
    assert result.out.startswith(f"### 2.11.0+cpu → 2.13.0+cpu on cpu-2c: {title}\n")


def test_gate_of_one_process_is_unknown_and_says_how_many_it_needs(
    compilewatch: RunCommand,
) -> None:
    both_builds()
    with measured_meanwhile({comparisons.BASE: 2.0, comparisons.NEW: 2.2}):
        result = compilewatch(*GATE, "--repeats", "1", "--json")
    assert result.code == 3
    assert result.json["verdict"] == "unclear"
    assert result.json["pairs_needed"] == 3


# --- series, alerts


def test_series_are_a_table_for_people_and_json_for_programs(compilewatch: RunCommand) -> None:
    alerting.measure({"latency_ms": 2.0}, 0)
    assert "2 ms" in compilewatch("series", "--metric", "latency_ms").out
    [series] = compilewatch("series", "--metric", "latency_ms", "--json").json
    assert series["benchmark"] == site.MLP
    assert series["value"] == 2.0


def test_data_are_listed_from_a_moment_on(compilewatch: RunCommand) -> None:
    alerting.measure({"latency_ms": 2.0}, 0)
    alerting.measure({"latency_ms": 3.0}, 24)
    words = ("series", "--metric", "latency_ms", "--data", "--since", "2026-11-02")
    [series] = compilewatch(*words, "--json").json
    assert [datum["value"] for datum in series["data"]] == [3.0]


def test_alerts_are_listed_by_title(compilewatch: RunCommand) -> None:
    alerting.group(title="gpt2 got slower")
    assert "gpt2 got slower" in compilewatch("alerts").out
    assert "No alert fits" in compilewatch("alerts", "--severity", "high").out


def test_piped_output_is_not_truncated(compilewatch: RunCommand) -> None:
    title = "a title longer than eighty columns are wide, as titles of real changes often are"
    alerting.group(title=title)
    assert title in compilewatch("alerts").out


# --- triage, bisect, schedules


def test_alert_is_moved(compilewatch: RunCommand) -> None:
    group = alerting.group(title="gpt2 got slower")
    result = compilewatch("triage", str(group.pk), "move", "to=acknowledged", "why=seen")
    assert "is acknowledged: gpt2" in result.out


def test_alert_is_split(compilewatch: RunCommand) -> None:
    group = alerting.group()
    first = alerting.alert(group)
    second = alerting.alert(group, metric="cold_start_s")
    result = compilewatch("triage", str(group.pk), "split", f"changes={second.pk}", "--json")
    assert [change["id"] for change in result.json["changes"]] == [second.pk]
    assert list(group.alerts.all()) == [first]


def test_address_of_a_started_bisection_is_printed(compilewatch: RunCommand) -> None:
    comparisons.three_builds()
    result = compilewatch(*BISECT, "--no-watch")
    assert result.out.strip().endswith(f"/bisections/{Bisection.objects.get().pk}/")


def test_inconclusive_bisection_exits_with_1(compilewatch: RunCommand) -> None:
    comparisons.three_builds()
    with measured_meanwhile(
        {
            comparisons.BASE: 2.0,
            "2.12.0+cpu": 2.0,
            comparisons.NEW: 2.0,
        }
    ):
        result = compilewatch(*BISECT)
    assert result.code == 1
    assert result.out.startswith("inconclusive: The ends do not differ: 0.0% (")


def test_schedules_are_listed_and_triggered(compilewatch: RunCommand) -> None:
    schedule = ensure_nightly(machine=site.worker().machine, track=site.track())
    assert schedule.name in compilewatch("schedules").out
    assert compilewatch("schedules", "--trigger", str(schedule.pk)).out.startswith("run ")


# --- Errors


def test_wrong_token_is_reported_in_one_line(
    compilewatch: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPILEWATCH_TOKEN", "cw_nobodys")
    result = compilewatch("alerts")
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("compilewatch: This token is not valid"), result.err


def test_removed_command_says_what_replaces_it(compilewatch: RunCommand) -> None:
    result = compilewatch("factors", "--level", "torch=2.11.0,2.13.0")
    assert result.code == 2
    assert "use `compare` for builds that differ in one factor" in result.err


def test_path_and_build_cannot_be_compared(compilewatch: RunCommand) -> None:
    result = compilewatch("gate", "--base", "./python", "--new", "2.13.0")
    assert result.code == 2
    assert "two interpreters, or two builds" in result.err
