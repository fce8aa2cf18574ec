"""Two releases that nobody has installed, as a new user meets them: added and compared in the
admin, or by one command.

Everything is real: the package index, `uv`, torch, the browser. Minutes and gigabytes. `make
test-slow ARGS="-k compare_first_time -s"`; REAL_BUILDS names the two releases, as "2.9.1 2.10.0".
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.builders.chromium import DESK, chromium, errors_of
from tests.builders.local_site import OURS, ROOT, LocalSite, local_site

pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.compiles,
    pytest.mark.timeout(7200),
]
BASE, NEW = os.environ.get("REAL_BUILDS", "2.9.1 2.10.0").split()[:2]
MLP = "mlp.smoke.inference.float32.static.b64"
PATIENCE_S = 3000


@pytest.fixture(scope="module")
def site() -> Iterator[LocalSite]:
    folder = Path(tempfile.mkdtemp(prefix="compilewatch-compare-"))
    folder.chmod(0o755)  # under root, Postgres runs as another account, which has to get in
    with local_site(folder) as running:
        yield running
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def tab(site: LocalSite) -> Iterator[Page]:
    """A window in which the admin account is signed in, and the first run is out of the way."""
    with chromium() as browser:
        opened = browser.new_page(base_url=site.url, viewport=DESK)
        errors = errors_of(opened.context)
        opened.goto("/sign-in/?next=/runs/1/")
        opened.get_by_label("Username").fill("admin")
        opened.get_by_label("Password").fill(site.wait_for(r"user admin, password (\S+)", 1)[1])
        opened.get_by_role("button", name="Sign in").click()
        opened.get_by_role("button", name="Cancel …").click()
        opened.get_by_role("button", name="Cancel the run").click()
        yield opened
        assert errors == []


def add_build(tab: Page, version: str) -> None:
    tab.goto("/admin/dashboard/torchbuild/add/")
    tab.get_by_label("Version").fill(version)
    tab.get_by_role("button", name="Save", exact=True).click()
    expect(tab.get_by_text("was added successfully")).to_be_visible(timeout=60_000)


def test_two_builds_added_in_the_admin_are_compared_both_installed_and_measured(tab: Page) -> None:
    add_build(tab, BASE)
    add_build(tab, NEW)
    tab.goto("/admin/dashboard/torchbuild/")
    for version in (BASE, NEW):
        tab.get_by_role("row").filter(
            has=tab.get_by_role("link", name=version, exact=True)
        ).get_by_role("checkbox").check()
    tab.locator("select[name=action]").select_option(label="Compare")
    tab.get_by_role("button", name=re.compile("Run|Go")).first.click()
    tab.locator("#id_benchmarks").evaluate(
        "(select, name) => { for (const option of select.options) option.selected = option.text "
        "=== name }",
        MLP,
    )
    tab.get_by_label("Repeats").fill("2")
    tab.get_by_role("button", name="Measure both now").click()
    expect(tab.get_by_role("heading", name=f"Move from {BASE} to {NEW}?")).to_be_visible()
    wait_until_it_ended(tab)
    matched = tab.locator("dl.answer-facts div", has_text="Matched cases").locator("dd")
    expect(matched).to_have_text("2")  # eager and inductor, nothing left out


def wait_until_it_ended(tab: Page) -> None:
    """The page follows by itself; what it says meanwhile is printed."""
    deadline, told = time.monotonic() + PATIENCE_S, ""
    while tab.locator("[data-live]").count():
        assert time.monotonic() < deadline, tab.locator("#content").inner_text()
        said = " ".join(tab.locator("#live").inner_text().split())
        if said != told:
            sys.stdout.write(f"{said}\n")
        told = said
        tab.wait_for_timeout(5000)
    sys.stdout.write(f"{tab.locator('#report .answer').inner_text()}\n")


def test_the_same_is_one_command(site: LocalSite, tab: Page) -> None:
    command = [
        "manage.py",
        "compare_builds",
        BASE,
        NEW,
        "--benchmark",
        MLP,
        "--repeats",
        "1",
        "--follow",
    ]
    inherited = {name: value for name, value in os.environ.items() if name not in OURS}
    environment = {**inherited, "VAR_DIR": str(site.var)}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    sys.stdout.write(done.stdout)
    assert "4 of 4 jobs, 0 not passed" in done.stdout, done.stderr
    assert "mlp inference: " in done.stdout
