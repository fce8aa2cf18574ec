"""The form "Run now" in a real browser: a machine brings its builds, a choice its cost."""

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, ViewportSize, expect

from dashboard.models import Machine, Run
from tests.builders import site
from tests.builders.chromium import DESK, PHONE

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
FORM = "/admin/dashboard/run/add/"
CUDA_BUILD = "2.11.0+cu130"


@pytest.fixture(autouse=True)
def machines() -> None:
    """A machine of each kind with a living worker, and a build for each."""
    site.living_worker()
    site.living_worker("gpu", on="h200")
    Machine.objects.filter(key="h200").update(device_kind="cuda")
    for label in (site.BUILD, CUDA_BUILD):
        site.build(label)
    site.track()


@pytest.fixture
def form(context: BrowserContext) -> Page:
    page = context.new_page()
    page.goto(FORM)
    return page


def cost(form: Page) -> Locator:
    return form.locator("#preview")


def pick(form: Page, field: str, words: str) -> None:
    """Type words into a picker, and take the first that it finds."""
    form.locator(f"#id_{field} + .select2").click()
    form.keyboard.type(words)
    form.keyboard.press("Enter")


def test_machine_brings_its_builds(form: Page) -> None:
    builds = form.locator("#id_build")
    expect(builds).to_contain_text(site.BUILD)
    expect(builds).not_to_contain_text(CUDA_BUILD)
    form.locator("#id_machine").select_option(label="h200")
    expect(form.locator("#id_build")).to_contain_text(CUDA_BUILD)
    expect(form.locator("#id_build")).not_to_contain_text(site.BUILD)
    expect(form.locator("#id_machine option:checked")).to_have_text("h200")


def test_other_choices_stay_when_the_machine_changes(form: Page) -> None:
    form.get_by_label("toy", exact=True).check()
    form.locator("#id_machine").select_option(label="h200")
    expect(form.locator("#id_build")).to_contain_text(CUDA_BUILD)
    expect(form.get_by_label("toy", exact=True)).to_be_checked()


def test_cost_is_shown_at_once_and_follows_each_choice(form: Page) -> None:
    expect(cost(form)).to_contain_text("jobs, about")
    form.get_by_label("toy", exact=True).check()
    expect(cost(form)).to_contain_text("2 jobs, about 3 min of work.")
    pick(form, "configs", "eager")
    expect(cost(form)).to_contain_text("1 job, about")


def test_benchmark_is_found_by_words_in_any_order(form: Page) -> None:
    pick(form, "benchmarks", "inference mlp")
    expect(form.locator("#id_benchmarks option:checked")).to_have_text(site.MLP)
    expect(cost(form)).to_contain_text("2 jobs, about")


def test_track_of_another_kind_of_machine_is_warned_about(form: Page) -> None:
    site.run(machine="h200", track=site.track("gpu-history").key)
    form.reload()
    form.locator("#id_track").select_option(label="gpu-history")
    expect(cost(form)).to_contain_text("gpu-history has results of CUDA GPU machines alone (h200)")


def test_choice_that_starts_nothing_says_why(form: Page) -> None:
    form.locator("#id_build").select_option("")
    expect(cost(form)).to_contain_text("Still to choose: build.")
    assert not Run.objects.exists()


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_cost_is_in_sight_with_the_button(form: Page, size: ViewportSize) -> None:
    form.set_viewport_size(size)
    form.get_by_role("button", name="Run now").scroll_into_view_if_needed()
    expect(cost(form)).to_be_in_viewport()
