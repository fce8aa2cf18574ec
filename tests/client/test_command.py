"""The command `compilewatch`, against a real site: what it prints, and how it ends."""

import threading

import pytest
from django.db import connection

from compilewatch_client import screen
from dashboard.comparisons.services.bisections import advance_all
from dashboard.models import Bisection, Comparison, Job, Run
from dashboard.runs.services.schedules import ensure_nightly
from tests.builders import alerting, comparisons, site
from tests.client.conftest import Command

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("online")]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "LOOK_EVERY_S", 0.05)


def measured_meanwhile(
    what: type[Run | Comparison | Bisection], latency: dict[str, float]
) -> threading.Thread:
    """Somebody measures what the command is about to trigger: `latency` by build, in
    milliseconds.
    """

    def work() -> None:
        try:
            while not Job.objects.exists():
                threading.Event().wait(0.05)
            jobs = Job.objects.select_related("run__build", "config", "benchmark").order_by(
                "planned_at"
            )
            for number, job in enumerate(list(jobs)):
                comparisons.deliver_result(
                    job, latency[job.run.build.label] * (1 + 0.001 * (number // 2 % 3))
                )
            advance_all()
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def both_builds() -> None:
    site.worker()
    site.track()
    site.build(comparisons.BASE)
    site.build(comparisons.NEW)


# --- run, watch
# -------------------------------------------------------------------------------------------------------
def test_run_triggers_follows_and_tells_the_end(compilewatch: Command) -> None:
    both_builds()
    worker = measured_meanwhile(Run, {site.BUILD: 2.0})
    done = compilewatch("run", site.BUILD, "--benchmark", site.MLP)
    worker.join()
    assert (done.code, done.out.splitlines()[0]) == (
        0,
        f"run {Run.objects.get().pk} completed: 2 passed",
    )


def test_a_dry_run_prints_the_cases_and_measures_nothing(compilewatch: Command) -> None:
    both_builds()
    done = compilewatch("run", site.BUILD, "--family", "llm", "--dry-run")
    assert f"{site.GPT2}  eager" in done.out
    assert "2 jobs on cpu-2c" in done.out
    assert not Run.objects.exists()


def test_watch_of_a_run_with_failures_names_them_and_ends_with_1(compilewatch: Command) -> None:
    run = alerting.measure(None, 0).run
    done = compilewatch("watch", str(run.pk))
    assert done.code == 1
    assert "timeout" in done.out


def test_a_benchmark_that_there_is_not_is_told_with_what_is_near(compilewatch: Command) -> None:
    both_builds()
    done = compilewatch("run", site.BUILD, "--benchmark", site.MLP[:-1])
    assert (done.code, done.out) == (2, "")
    assert f"Did you mean {site.MLP}" in done.err


# --- compare, upgrade-report, gate
# ------------------------------------------------------------------------------------
def test_compare_tells_what_changed(compilewatch: Command) -> None:
    both_builds()
    worker = measured_meanwhile(Comparison, {comparisons.BASE: 2.0, comparisons.NEW: 1.8})
    done = compilewatch("compare", "2.11.0", "2.13.0", "--benchmark", site.MLP, "--repeats", "3")
    worker.join()
    assert done.code == 0
    assert "Yes. Compiled steps are 10.0 % faster" in done.out
    assert "-10.0 %" in done.out


def test_an_upgrade_report_as_markdown_goes_into_a_pull_request(compilewatch: Command) -> None:
    comparison = comparisons.started_comparison(repeats=1)
    done = compilewatch("upgrade-report", str(comparison.uuid), "--markdown")
    assert done.out.startswith(f"# Move from {comparisons.BASE} to {comparisons.NEW}? On cpu-2c\n")


@pytest.mark.parametrize(
    ("latency", "code", "title"), [(2.0, 0, "no significant regression"), (2.2, 1, "regression")]
)
def test_the_gate_ends_with_what_the_site_measured(
    compilewatch: Command, latency: float, code: int, title: str
) -> None:
    both_builds()
    worker = measured_meanwhile(Comparison, {comparisons.BASE: 2.0, comparisons.NEW: latency})
    done = compilewatch(
        "gate", "--base", "2.11.0", "--new", "2.13.0", "--model", "mlp", "--repeats", "3"
    )
    worker.join()
    assert (done.code, done.out.splitlines()[0]) == (
        code,
        f"### 2.11.0+cpu → 2.13.0+cpu on cpu-2c: {title}",
    )


def test_the_gate_of_one_process_is_not_known_and_says_what_would_tell(
    compilewatch: Command,
) -> None:
    both_builds()
    worker = measured_meanwhile(Comparison, {comparisons.BASE: 2.0, comparisons.NEW: 2.2})
    done = compilewatch(
        "gate", "--base", "2.11.0", "--new", "2.13.0", "--model", "mlp", "--repeats", "1", "--json"
    )
    worker.join()
    assert (done.code, done.json["state"], done.json["processes_needed"]) == (3, "unknown", 3)


# --- series, alerts
# ---------------------------------------------------------------------------------------------------
def test_series_are_a_table_for_people_and_json_for_programs(compilewatch: Command) -> None:
    alerting.measure({"latency_ms": 2.0}, 0)
    assert "2 ms" in compilewatch("series", "--metric", "latency_ms").out
    [found] = compilewatch("series", "--metric", "latency_ms", "--json").json
    assert (found["benchmark"], found["value"]) == (site.MLP, 2.0)


def test_data_are_told_from_a_moment_on(compilewatch: Command) -> None:
    alerting.measure({"latency_ms": 2.0}, 0)
    alerting.measure({"latency_ms": 3.0}, 24)
    [found] = compilewatch(
        "series", "--metric", "latency_ms", "--data", "--since", "2026-11-02", "--json"
    ).json
    assert [one["value"] for one in found["data"]] == [3.0]


def test_alerts_are_told_by_title(compilewatch: Command) -> None:
    alerting.group(title="gpt2 got slower")
    assert "gpt2 got slower" in compilewatch("alerts").out
    assert "No alert fits" in compilewatch("alerts", "--severity", "high").out


def test_names_are_whole_where_the_output_is_piped(compilewatch: Command) -> None:
    alerting.group(
        title="a title that is longer than eighty columns are wide, as titles of real changes "
        "often are"
    )
    assert "as titles of real changes often are" in compilewatch("alerts").out


# --- triage, bisect, schedules
# ----------------------------------------------------------------------------------------
def test_an_alert_is_triaged_with_the_fields_of_the_call(compilewatch: Command) -> None:
    group = alerting.group(title="gpt2 got slower")
    first, second = alerting.alert(group), alerting.alert(group, metric="cold_start_s")
    assert (
        "is acknowledged: gpt2"
        in compilewatch("triage", str(group.pk), "move", "to=acknowledged", "why=seen").out
    )
    split = compilewatch("triage", str(group.pk), "split", f"changes={second.pk}", "--json").json
    assert [one["id"] for one in split["changes"]] == [second.pk]
    assert list(group.alerts.all()) == [first]


def test_a_search_is_begun_and_its_address_told(compilewatch: Command) -> None:
    comparisons.three_builds()
    done = compilewatch(
        "bisect", "2.11.0", "2.13.0", "--benchmark", site.MLP, "--config", "inductor", "--no-watch"
    )
    assert done.out.strip().endswith(f"/bisections/{Bisection.objects.get().pk}/")


def test_a_search_that_does_not_find_ends_with_1(compilewatch: Command) -> None:
    comparisons.three_builds()
    worker = measured_meanwhile(
        Bisection, {comparisons.BASE: 2.0, "2.12.0+cpu": 2.0, comparisons.NEW: 2.0}
    )
    done = compilewatch(
        "bisect", "2.11.0", "2.13.0", "--benchmark", site.MLP, "--config", "inductor"
    )
    worker.join()
    assert (done.code, done.out.splitlines()[0]) == (
        1,
        "inconclusive: The ends do not differ: unchanged.",
    )


def test_schedules_are_told_and_triggered(compilewatch: Command) -> None:
    schedule = ensure_nightly(machine=site.worker().machine, track=site.track())
    assert schedule.name in compilewatch("schedules").out
    assert compilewatch("schedules", "--trigger", str(schedule.pk)).out.startswith("run ")


# --- What goes wrong
# --------------------------------------------------------------------------------------------------
def test_a_wrong_token_is_told_in_one_line(
    compilewatch: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPILEWATCH_TOKEN", "cw_nobodys")
    done = compilewatch("alerts")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("compilewatch: No token that counts"), done.err


def test_a_path_and_a_build_cannot_be_compared(compilewatch: Command) -> None:
    done = compilewatch("gate", "--base", "./python", "--new", "2.13.0")
    assert (done.code, "two interpreters, or two builds" in done.err) == (2, True)
