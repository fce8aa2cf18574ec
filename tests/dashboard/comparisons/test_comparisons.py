"""A comparison from its start to its report, and the two ways to start one: the admin and the
command line.
"""

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from dashboard.catalog.core.plan import Selection
from dashboard.comparisons.selectors.comparisons import progress
from dashboard.comparisons.services import comparisons
from dashboard.comparisons.services.comparisons import settle, settle_all, start_comparison
from dashboard.judgement.looks import CERTAIN_PAIRS
from dashboard.management.commands.compare_builds import Command
from dashboard.models import (
    Benchmark,
    Comparison,
    InstalledEnvironment,
    Machine,
    TorchBuild,
)
from dashboard.runs.selectors.runs import WAITING
from tests.builders import releases, site
from tests.builders.comparisons import (
    BASE,
    NEW,
    comparison_jobs,
    deliver_result,
    started_comparison,
)
from tests.builders.reading import text

pytestmark = pytest.mark.django_db
COMPARE = "/compare/?base=2.11.0&new=2.13.0&machine=h100"


# --- A comparison ---


def test_waiting_comparison_shows_its_progress_and_polls(reader: Client) -> None:
    shown = text(reader, started_comparison().get_absolute_url())
    assert "No job has finished yet" in shown
    assert 'hx-trigger="every 4s"' in shown
    assert "0 of 8" in shown


def test_report_of_a_comparison_is_of_its_own_runs_alone(operator: Client) -> None:
    comparison = started_comparison(repeats=3)
    for job in comparison_jobs(comparison):
        deliver_result(job, 2.0)
    settle(comparison_id=comparison.pk)
    shown = text(operator, comparison.get_absolute_url())
    assert "No step is more than 0.05% slower" in shown
    assert "Measure more …" in shown
    assert 'hx-trigger="every' not in shown


def test_operator_measures_more(operator: Client) -> None:
    comparison = started_comparison(repeats=1)
    operator.post(comparison.get_absolute_url() + "more", {"repeats": "2"})
    comparison.refresh_from_db()
    assert comparison.repeats == 3
    assert comparison.runs.count() == 4


def test_operator_cancels_a_comparison(operator: Client) -> None:
    comparison = started_comparison()
    operator.post(comparison.get_absolute_url() + "cancel")
    assert {run.state for run in comparison.runs.all()} == {"cancelled"}


def test_reader_may_neither_cancel_nor_measure_more(reader: Client) -> None:
    address = started_comparison().get_absolute_url()
    assert reader.post(address + "cancel").status_code == 403
    assert reader.post(address + "more").status_code == 403


def test_unknown_comparison_is_not_found(reader: Client) -> None:
    assert reader.get("/comparisons/00000000-0000-0000-0000-000000000000/").status_code == 404


# --- The admin ---


BUILDS = "/admin/dashboard/torchbuild/"
ADD = "/admin/dashboard/comparison/add/"


def test_two_selected_builds_lead_to_the_form(operator: Client) -> None:
    site.worker()
    old, new = site.build("2.11.0+cpu"), site.build("2.13.0+cpu")
    selection = {"action": "compare", "_selected_action": [new.pk, old.pk]}
    location = operator.post(BUILDS, selection).headers["Location"]
    assert location == f"{ADD}?base={old.pk}&new={new.pk}"
    assert "Processes of each case" in text(operator, location)


def test_comparison_is_started_in_the_admin(operator: Client) -> None:
    site.worker()
    form = {
        "base": site.build("2.11.0+cpu").pk,
        "new": site.build("2.13.0+cpu").pk,
        "machine": Machine.objects.get().pk,
        "repeats": 1,
        "families": ["toy"],
    }
    answer = operator.post(ADD, form)
    comparison = Comparison.objects.get()
    assert answer.headers["Location"] == comparison.get_absolute_url()
    assert comparison.runs.count() == 2


def test_one_selected_build_alone_is_refused(operator: Client) -> None:
    build = site.build("2.11.0+cpu")
    operator.post(BUILDS, {"action": "compare", "_selected_action": [build.pk]})
    assert "Select two builds" in text(operator, BUILDS)


# --- The command line ---


def test_command_starts_a_comparison_and_prints_its_address(
    capsys: pytest.CaptureFixture[str],
) -> None:
    started_comparison()
    call_command(
        "compare_builds", "2.11.0", "2.13.0", benchmark=[site.MLP], repeats=1, label="from a shell"
    )
    comparison = Comparison.objects.get(label="from a shell")
    assert comparison.get_absolute_url() in capsys.readouterr().out
    assert comparison.runs.first().jobs.count() == 2  # type: ignore[union-attr]


def test_command_follows_until_the_answer(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    comparison = started_comparison(repeats=3)

    def deliver_waiting(_: float) -> None:
        for job in comparison_jobs(comparison):
            if job.state in WAITING:
                deliver_result(job, 2.0 if job.run.build == comparison.base else 1.8)

    monkeypatch.setattr("dashboard.management.commands.compare_builds.time.sleep", deliver_waiting)
    Command().follow(comparison)
    shown = capsys.readouterr().out
    assert "24 of 24 jobs, 0 not passed" in shown  # what likely changed was measured again
    assert "\nBetter, certain. mlp inference: latency 10.0% faster" in shown
    assert "10.0% faster" in shown


def test_what_likely_changed_is_measured_again_once() -> None:
    comparison = started_comparison(repeats=3)
    for job in comparison_jobs(comparison):
        deliver_result(job, 2.0 if job.run.build == comparison.base else 1.8)
    settle(comparison_id=comparison.pk)
    settle(comparison_id=comparison.pk)
    assert len(comparison_jobs(comparison)) == 2 * 2 * CERTAIN_PAIRS


def test_comparison_without_a_change_is_settled_as_it_is() -> None:
    comparison = started_comparison()
    for job in comparison_jobs(comparison):
        deliver_result(job, 2.0)
    settle_all()
    comparison.refresh_from_db()
    assert comparison.is_settled
    assert len(comparison_jobs(comparison)) == 8


def test_comparison_of_a_retired_benchmark_is_settled_as_it_is() -> None:
    comparison = started_comparison()
    for job in comparison_jobs(comparison):
        deliver_result(job, 2.0)
    Benchmark.objects.update(retired=True)
    settle_all()
    comparison.refresh_from_db()
    assert comparison.is_settled


def test_comparison_that_cannot_be_settled_does_not_keep_the_others_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = []

    def fail(*, comparison_id: int) -> None:
        tried.append(comparison_id)
        raise OperationalError

    monkeypatch.setattr(comparisons, "settle", fail)
    selection = Selection(benchmarks=(site.MLP,))
    first = started_comparison()
    second = start_comparison(base=BASE, new=NEW, machine="cpu-2c", selection=selection)
    both = {first.pk, second.pk}
    settle_all()
    assert set(tried) == both


def test_answer_of_a_comparison_that_runs_is_one_so_far(reader: Client) -> None:
    comparison = started_comparison()
    for job in comparison_jobs(comparison)[:4]:
        deliver_result(job, 2.0)
    assert "unclear</a></span>, so far" in text(reader, comparison.get_absolute_url())


@pytest.mark.parametrize("part", ["report", "report.md", "gate"])
def test_api_says_so_far_until_it_has_ended(operator: Client, part: str) -> None:
    comparison = started_comparison()
    address = f"/api/v1/comparisons/{comparison.uuid}/{part}"
    for job in comparison_jobs(comparison)[:4]:
        deliver_result(job, 2.0)
    assert "So far: 4 of 8 jobs ended." in text(operator, address)
    for job in comparison_jobs(comparison)[4:]:
        deliver_result(job, 2.0)
    settle(comparison_id=comparison.pk)
    assert "So far" not in text(operator, address)


def test_gate_says_where_a_new_graph_break_is(operator: Client) -> None:
    comparison = started_comparison()
    place = {"reason": "call of print", "location": "model.py:7 in forward", "count": 1}
    for job in comparison_jobs(comparison):
        breaks = [place] if job.run.build == comparison.new else []
        deliver_result(
            job, 2.0, {"graph_breaks": float(len(breaks))}, compile={"graph_breaks": breaks}
        )
    gate = operator.get(f"/api/v1/comparisons/{comparison.uuid}/gate").json()
    assert gate["exit_code"] == 1
    assert {(each["config"], each["location"]) for each in gate["new_graph_breaks"]} == {
        ("eager", "model.py:7 in forward"),
        ("inductor", "model.py:7 in forward"),
    }


def test_page_and_command_say_which_build_is_being_installed(reader: Client) -> None:
    comparison = started_comparison()
    assert progress(comparison, timezone.now()).installing == []
    InstalledEnvironment.objects.create(
        worker=site.worker("installing", on=comparison.machine.key),
        key="k",
        build=comparison.new,
        state=InstalledEnvironment.State.BUILDING,
    )
    assert progress(comparison, timezone.now()).installing == [comparison.new]
    assert f"<small>torch {comparison.new}</small>" in text(reader, comparison.get_absolute_url())


def test_following_ends_in_one_line_when_the_site_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    def lose_connection(*_: object) -> None:
        raise OperationalError("terminating connection due to administrator command")

    started_comparison()
    monkeypatch.setattr(Command, "follow", lose_connection)
    builds = ("2.11.0", "2.13.0")
    with pytest.raises(CommandError, match="is the site stopped"):
        call_command(
            "compare_builds",
            *builds,
            benchmark=[site.MLP],
            repeats=1,
            follow=True,
        )


@pytest.mark.parametrize(
    ("builds", "words"),
    [(("2.11.0", "2.11.0"), "Both sides are 2.11.0"), (("2.11.0", "nonsense"), "nonsense")],
)
def test_command_refuses_with_the_reason(builds: tuple[str, str], words: str) -> None:
    started_comparison()
    with pytest.raises(CommandError, match=words):
        call_command("compare_builds", *builds)


# --- In turn ---


def test_builds_are_measured_in_turn_and_each_goes_first_as_often() -> None:
    jobs = comparison_jobs(started_comparison(repeats=4))
    order = [(job.config.name, job.run.build.label) for job in jobs]
    firsts, seconds = order[::2], order[1::2]
    for (config, build), other in zip(firsts, seconds, strict=True):
        assert other == (config, NEW if build == BASE else BASE)
    assert firsts.count(("eager", BASE)) == 2
    assert firsts.count(("inductor", BASE)) == 2


def test_both_builds_get_the_newest_libraries_that_both_take() -> None:
    assert started_comparison().libraries["transformers"] == "5.23.0"
    site.build("2.5.1")
    older = start_comparison(
        base="2.5.1",
        new="2.13.0",
        machine="cpu-2c",
        selection=Selection(benchmarks=(site.MLP,)),
        repeats=1,
    )
    assert older.libraries["transformers"] == "5.19.0"


# --- From stored data ---


def test_one_build_alone_cannot_be_compared(reader: Client) -> None:
    releases.import_two_releases(models=["gpt2"])
    TorchBuild.objects.get(label=releases.NEW).runs.all().delete()
    assert "Only one build was measured yet" in text(reader, "/compare/")


def test_case_under_another_library_set_is_left_out_unless_requested(reader: Client) -> None:
    other = releases.environment(releases.NEW, transformers="5.23.0")
    releases.import_two_releases(models=["gpt2"], environment=other)
    assert "other library set: diffusers 0.42.1, transformers 5.17.0 against" in text(
        reader, COMPARE
    )
    assert "gpt2" in text(reader, COMPARE + "&libraries=any&show=better")


def test_change_links_to_the_search_for_its_build(operator: Client) -> None:
    releases.import_two_releases(models=["gpt2", "resnet50"])
    shown = text(operator, COMPARE)
    [link] = {
        part.partition('"')[0]
        for part in shown.split('href="')
        if "bisection/add" in part and "inference" in part
    }
    form = text(operator, link.replace("&amp;", "&"))
    assert "selected>gpt2.standard.inference.bfloat16.static.b16" in form
    assert "selected>inductor" in form
