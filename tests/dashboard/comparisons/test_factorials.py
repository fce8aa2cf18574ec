"""A factorial from its form to its table: how it is measured, what the page and the files say."""

import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse

from dashboard.comparisons.selectors.factorials import results
from dashboard.comparisons.services.factorials import cancel_factorial, measure_rounds
from dashboard.models import Benchmark, Config, Factorial, Job, JobState, Machine
from dashboard.runs.services.binding import bind_cases
from tests.builders import site
from tests.builders.comparisons import (
    LEVELS,
    factorial_jobs,
    measure_factorial,
    started_factorial,
    two_builds,
)
from tests.builders.reading import text

pytestmark = pytest.mark.django_db
ADD = "/admin/dashboard/factorial/add/"
TORCH_SLOWER = {2: 10.0, 3: 10.0}  # both arms of 2.13.0


@pytest.fixture
def builds() -> None:
    two_builds()


# --- How it is measured ---


def test_every_round_has_every_arm_once_in_an_order_of_its_own() -> None:
    arms = [job.run.arm or 0 for job in factorial_jobs(started_factorial(repeats=6))]
    rounds = [tuple(arms[place : place + 4]) for place in range(0, len(arms), 4)]
    assert [sorted(each) for each in rounds] == [[0, 1, 2, 3]] * 6
    assert len(set(rounds)) > 1


def test_all_arms_are_one_session_and_ask_for_their_libraries() -> None:
    factorial = started_factorial()
    assert len(set(factorial.runs.values_list("session", flat=True))) == 1
    versions = [run.libraries["transformers"] for run in factorial.runs.order_by("arm")]
    assert versions == ["5.19.0", "5.23.0", "5.19.0", "5.23.0"]


def test_further_rounds_join_the_first_as_a_session_of_their_own() -> None:
    factorial = started_factorial(repeats=1)
    measure_rounds(factorial=factorial, repeats=2)
    measure_factorial(factorial, {})
    factorial.refresh_from_db()
    assert factorial.repeats == 3
    assert [arm.n for arm in results(factorial).analyses["latency_ms"].arms] == [3] * 4


def test_rounds_of_two_requests_at_once_are_both_counted() -> None:
    started_factorial(repeats=1)
    first, second = Factorial.objects.get(), Factorial.objects.get()
    measure_rounds(factorial=first, repeats=2)
    measure_rounds(factorial=second, repeats=3)
    assert Factorial.objects.get().repeats == 6


def test_cancelled_factorial_measures_nothing_more() -> None:
    factorial = started_factorial()
    assert cancel_factorial(factorial=factorial) == 12
    assert not Job.objects.exclude(state=JobState.CANCELLED).exists()


# --- What it says ---


def test_factor_that_moved_it_is_found() -> None:
    factorial = started_factorial()
    measure_factorial(factorial, TORCH_SLOWER)
    measured = results(factorial)
    assert measured.answer
    assert measured.answer.word == "torch"
    torch, transformers, together = measured.analyses["latency_ms"].effects
    assert torch.ratio.percent == pytest.approx(10, abs=0.3)
    assert [transformers.verdict, together.verdict] == ["same", "same"]


def test_page_has_the_answer_each_effect_and_each_arm(reader: Client) -> None:
    factorial = started_factorial()
    measure_factorial(factorial, TORCH_SLOWER)
    shown = text(reader, factorial.get_absolute_url())
    assert "torch 2.11.0 → 2.13.0" in shown
    assert "% slower (" in shown
    assert "Both at once" in shown
    assert shown.count('class="whisker') == 3
    assert 'hx-trigger="every' not in shown


def test_page_polls_while_it_is_measured(reader: Client) -> None:
    shown = text(reader, started_factorial().get_absolute_url())
    assert "Nothing has ended yet" in shown
    assert 'hx-trigger="every 4s"' in shown


def test_answer_before_the_end_is_one_so_far(reader: Client) -> None:
    factorial = started_factorial()
    for job in factorial_jobs(factorial)[4:]:
        Job.objects.filter(pk=job.pk).update(state=JobState.RUNNING)
    measure_factorial(factorial, {})
    shown = text(reader, factorial.get_absolute_url())
    assert "Not known yet, so far" in shown
    assert "So far: 4 of 12 jobs ended." in shown


def test_arm_that_failed_is_left_out_and_takes_its_effects_with_it(reader: Client) -> None:
    factorial = started_factorial()
    failed = Job.objects.filter(run__factorial=factorial, run__arm=3)
    failed.update(state=JobState.FAILED, status="fail_to_run", message="No such wheel.")
    measure_factorial(factorial, TORCH_SLOWER)
    shown = text(reader, factorial.get_absolute_url())
    assert "torch 2.13.0, transformers 5.23.0</b>: 3 jobs failed" in shown
    assert "No such wheel." in shown
    assert "with transformers 5.19.0 alone" in shown
    assert "it would need all four of the two" in shown


def test_arm_that_failed_in_several_ways_has_the_newest_message() -> None:
    factorial = started_factorial()
    failed = [job for job in factorial_jobs(factorial) if job.run.arm == 3]
    endings = [("oom", "first"), ("crashed", "second"), ("oom", "third")]
    for job, (status, message) in zip(failed, endings, strict=True):
        ended = Job.objects.filter(pk=job.pk)
        ended.update(state=JobState.FAILED, status=status, message=message)
    measure_factorial(factorial, TORCH_SLOWER)
    (out,) = results(factorial).left_out
    assert out.why.endswith(": third")


def test_files_have_every_effect_and_arm(reader: Client) -> None:
    factorial = started_factorial()
    measure_factorial(factorial, TORCH_SLOWER)
    address = factorial.get_absolute_url()
    rows = json.loads(reader.get(f"{address}export.json").content)
    latency = [row["kind"] for row in rows if row["metric"] == "latency_ms"]
    assert latency == ["effect", "effect", "interaction", *["arm"] * 4]
    assert "torch 2.11.0 → 2.13.0" in reader.get(f"{address}export.csv").content.decode()


def test_list_leads_to_the_page(reader: Client) -> None:
    assert "No factors were exchanged yet" in text(reader, "/factorials/")
    factorial = started_factorial()
    assert factorial.get_absolute_url() in text(reader, "/factorials/")


# --- Starting one ---


@pytest.mark.usefixtures("builds")
def test_form_says_what_it_costs_and_shows_before_it_starts(operator: Client) -> None:
    site.build("2.5.1+cpu")
    answer = operator.post(f"{ADD}cost/", form(torch=["2.5.1", "2.13.0"]))
    shown = answer.content.decode()
    assert "3 combinations in 3 rounds: 9 jobs, about 12 min of work." in shown
    assert "transformers 5.23.0 needs torch &gt;=2.6" in shown
    assert "It cannot show: torch 2.5.1 → 2.13.0 × transformers" in shown
    assert "3 processes a side: below 6 a change stays suspected" in shown


@pytest.mark.usefixtures("builds")
def test_factorial_is_started_in_the_admin(operator: Client) -> None:
    answer = operator.post(ADD, form())
    factorial = Factorial.objects.get()
    assert answer.headers["Location"] == factorial.get_absolute_url()
    assert factorial.runs.count() == 4


@pytest.mark.usefixtures("builds")
def test_form_refuses_one_factor_alone(operator: Client) -> None:
    shown = operator.post(f"{ADD}cost/", form(transformers="5.23.0")).content.decode()
    assert "torch alone has two levels or more" in shown
    assert "For torch alone compare two builds." in shown


@pytest.mark.usefixtures("builds")
def test_page_asks_before_it_cancels_or_measures_more(operator: Client) -> None:
    operator.post(ADD, form())
    factorial = Factorial.objects.get()
    shown = text(operator, factorial.get_absolute_url())
    assert f'action="{reverse("factorial_cancel", args=[factorial.uuid])}"' in shown
    assert f'action="{reverse("factorial_more", args=[factorial.uuid])}"' in shown
    assert "Cancel the factorial" in shown
    assert "Every round measures each combination once more." in shown


@pytest.mark.usefixtures("builds")
def test_link_of_another_page_fills_in_the_form(operator: Client) -> None:
    shown = text(operator, f"{ADD}?torch=2.11.0,2.13.0&benchmark={site.MLP}")
    assert '<option value="2.11.0" selected>' in shown
    assert "Measure all now" in shown


def form(**fields: object) -> dict[str, object]:
    return {
        "machine": Machine.objects.get(key="cpu-2c").pk,
        "benchmark": Benchmark.objects.get(name=site.MLP).pk,
        "config": Config.objects.get(name="inductor").pk,
        "repeats": 3,
        "torch": ["2.11.0", "2.13.0"],
        "transformers": "5.19.0, 5.23.0",
        **fields,
    }


def test_operator_measures_more_and_cancels(operator: Client) -> None:
    factorial = started_factorial(repeats=1)
    operator.post(f"{factorial.get_absolute_url()}more", {"repeats": "2"})
    assert factorial.runs.count() == 8
    operator.post(f"{factorial.get_absolute_url()}cancel")
    assert {run.state for run in factorial.runs.all()} == {"cancelled"}


@pytest.mark.usefixtures("builds")
def test_command_plans_without_starting_and_starts(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--benchmark", site.MLP]
    for name, levels in LEVELS.items():
        options += ["--level", f"{name}={','.join(levels)}"]
    call_command("exchange_factors", *options, "--dry-run")
    assert not Factorial.objects.exists()
    call_command("exchange_factors", *options)
    assert "4 combinations, 12 jobs: about" in capsys.readouterr().out
    assert Factorial.objects.get().repeats == 3


@pytest.mark.usefixtures("builds")
@pytest.mark.parametrize(("level", "words"), [("torch", "NAME=A,B"), ("torch=9.9,9.8", "9.9")])
def test_command_refuses_with_the_reason(level: str, words: str) -> None:
    levels = ["--level", level, "--level", "numpy=1.26.4,2.4.6"]
    with pytest.raises(CommandError, match=words):
        call_command("exchange_factors", "--benchmark", site.MLP, *levels)


def test_work_of_one_machine_lies_on_one_worker() -> None:
    for name in ("w1", "w2"):
        site.living_worker(name)
    factorial = started_factorial()
    bind_cases(machine_id=factorial.machine_id)
    bound = set(factorial.runs.values_list("jobs__bound_to", flat=True))
    assert len(bound) == 1
    assert None not in bound
