"""The main job as a new user meets it: everything started, real models measured, the numbers in a
browser.

One story in the order of the tests; they share one running system. Nothing here is faked: embedded
Postgres and Valkey, the Celery worker, torch, Chromium. No fixture is called `page` or `browser`:
pytest-playwright gives tests that use such a name a parameter, and pytest would run them apart from
the others.
"""

import http.client
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect

from tests.builders.chromium import DESK, chromium, wait_until_true
from tests.builders.local_site import LocalSite, local_site

pytestmark = [pytest.mark.browser, pytest.mark.compiles, pytest.mark.timeout(1500)]
GPT2 = "gpt2.smoke.inference.float32.static.b2"
MLP = "mlp.smoke.inference.float32.static.b64"
PATIENCE_S = 900  # for minutes of work on two cores that others use too


@pytest.fixture(scope="module")
def var() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="compilewatch-e2e-"))
    folder.chmod(0o755)  # under root, Postgres runs as another account, which has to get in
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def site(var: Path) -> Iterator[LocalSite]:
    with local_site(var, migrated=True) as running:
        yield running


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def complaints() -> list[str]:
    """Complaints of the browser on the way."""
    return []


@pytest.fixture(scope="module")
def tab(window: Browser, site: LocalSite, complaints: list[str]) -> Page:
    def note_error(said: ConsoleMessage) -> None:
        if said.type == "error":
            complaints.append(said.text)

    opened = window.new_page(base_url=site.url, viewport=DESK)
    opened.on("console", note_error)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    return opened


def points(tab: Page, benchmark: str, config: str) -> int:
    """Count the passing points of this config on the site, by the series page's export: it costs no
    rendering.
    """
    exported = tab.request.get(f"/series/{benchmark}/export.json").json()["data"]
    return sum(datum["config"] == config and datum["status"] == "pass" for datum in exported)


def wait_for_a_point(tab: Page, benchmark: str, config: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not points(tab, benchmark, config):
        assert time.monotonic() < deadline, tab.request.get("/runs/1/").text()
        time.sleep(2)


def test_home_shows_the_first_run_working(site: LocalSite, tab: Page) -> None:
    tab.goto("/")
    expect(tab.get_by_role("heading", name="Running now")).to_be_visible()
    expect(tab.locator("#content")).to_contain_text(re.compile("running|queued"))


def test_whoever_asks_again_after_some_seconds_may_use_the_same_connection(site: LocalSite) -> None:
    connection = http.client.HTTPConnection(site.url.removeprefix("http://"))
    for pause_s in (0, 3):
        time.sleep(pause_s)
        connection.request("GET", "/healthz")
        assert connection.getresponse().read()


def test_the_series_page_of_a_real_model_shows_a_point_for_eager_and_for_inductor(
    tab: Page,
) -> None:
    for config in ("eager", "inductor"):
        wait_for_a_point(tab, GPT2, config)
    tab.goto(f"/series/{GPT2}/")
    for config in ("eager", "inductor"):
        measured = tab.locator("tr", has=tab.get_by_role("cell", name=config, exact=True))
        expect(measured.filter(has_text="pass")).to_have_count(1)
    # The page renews itself while jobs run: a plot may be replaced between two looks at it.
    wait_until_true(
        tab,
        "document.querySelector('.plot')?.data?.filter(trace => trace.y?.length).length >= 2",
    )


def test_the_job_behind_a_point_tells_how_it_was_measured(tab: Page) -> None:
    tab.goto(f"/series/{GPT2}/")
    tab.locator("tr", has=tab.get_by_role("cell", name="inductor", exact=True)).locator(
        "th a"
    ).first.click()
    expect(tab.locator("main")).to_contain_text(
        f"python -m benchmarks_suite run --benchmark {GPT2} --config inductor"
    )
    for title in ("Samples", "Accuracy", "Environment"):
        expect(tab.get_by_role("heading", name=title, exact=True)).to_be_visible()


def test_the_printed_password_signs_in(site: LocalSite, tab: Page) -> None:
    password = site.wait_for(r"user admin, password (\S+)", 1)[1]
    tab.goto("/sign-in/?next=/")
    tab.get_by_label("Username").fill("admin")
    tab.get_by_label("Password").fill(password)
    tab.get_by_role("button", name="Sign in").click()
    tab.locator("details.menu summary", has_text="admin").click()
    expect(tab.get_by_role("link", name="Admin")).to_be_visible()


def test_a_run_is_cancelled_from_its_page(tab: Page) -> None:
    tab.goto("/runs/1/")
    tab.get_by_role("button", name="Cancel …").click()
    tab.get_by_role("button", name="Cancel the run").click()
    expect(tab.locator("#live")).to_contain_text("cancelled", timeout=30_000)


def test_run_now_in_the_admin_adds_a_second_point_while_its_page_follows(tab: Page) -> None:
    tab.goto("/admin/dashboard/run/add/")
    for picker, name in (("#id_benchmarks", MLP), ("#id_configs", "eager")):
        tab.locator(picker).evaluate(
            "(select, name) => {"
            " for (const option of select.options) option.selected = option.text === name }",
            name,
        )
    tab.get_by_role("button", name="Run now").click()
    tab.wait_for_url("**/runs/2/")
    expect(tab.locator("#live")).to_contain_text("completed", timeout=PATIENCE_S * 1000)
    assert points(tab, MLP, "eager") == 2


def test_a_nightly_schedule_is_there_and_can_be_switched_off(tab: Page) -> None:
    tab.goto("/admin/dashboard/schedule/")
    tab.get_by_role("link", name=re.compile("Nightly")).click()
    tab.get_by_label("Enabled").uncheck()
    tab.get_by_role("button", name="Save", exact=True).click()
    expect(tab.get_by_text("changed successfully")).to_be_visible()


def test_no_page_complained_in_the_browser_on_the_way(complaints: list[str]) -> None:
    assert complaints == []


def test_ctrl_c_stops_it_and_the_next_start_has_all_data(
    site: LocalSite, var: Path, window: Browser
) -> None:
    assert site.stop() == 0
    with local_site(var) as again:
        assert not any("password" in line for line in again.lines), "\n".join(
            [*site.lines[-20:], *again.lines]
        )
        later = window.new_page(base_url=again.url)
        assert points(later, MLP, "eager") == 2, later.request.get(
            f"/series/{MLP}/export.json"
        ).text()
