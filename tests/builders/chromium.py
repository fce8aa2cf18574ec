"""A Chromium for the tests and the screenshots: the one that make test found, else the system's,
else Playwright's.
"""

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

DESK, PHONE = ViewportSize(width=1440, height=900), ViewportSize(width=390, height=844)
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# Tells of every break of the content security policy; the console would name only some.
_WATCH_POLICY = """
    window.policyBreaks = [];
    document.addEventListener("securitypolicyviolation", (event) =>
        window.policyBreaks.push(`${event.violatedDirective} ${event.sourceFile}`));
"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser that ends with the block."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*QUIET])
        try:
            yield browser
        finally:
            browser.close()


def drawn(page: Page) -> Page:
    """The page, once its charts are there."""
    expect(page.locator("[aria-busy=true]")).to_have_count(0, timeout=20_000)
    return page


def _watch(page: Page) -> list[str]:
    """What the page complains of from now on: errors on the console, uncaught exceptions."""
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.add_init_script(_WATCH_POLICY)
    return complaints


def _policy_breaks(page: Page) -> list[str]:
    """Breaks of the content security policy on the page that is open; _watch must have been called
    before.
    """
    found: list[str] = page.evaluate("window.policyBreaks")
    return found


def misfits(page: Page, addresses: Iterable[str]) -> list[str]:
    """What is wrong with pages on a phone, in words: too wide, a break of the security policy, an
    error of a script.
    """
    complaints, found = _watch(page), []
    page.set_viewport_size(PHONE)
    for address in addresses:
        page.goto(address)
        width = drawn(page).evaluate("document.documentElement.scrollWidth")
        found += [f"{address} is {width} px wide"] if width > PHONE["width"] else []
        found += [f"{address} breaks the policy: {broken}" for broken in _policy_breaks(page)]
    return found + complaints


def faults(page: Page, address: str) -> str:
    """What axe finds on the page, in words; empty when it finds nothing."""
    page.goto(address)
    found = Axe().run(drawn(page), options={"resultTypes": ["violations"]})
    return f"\n{address}\n{found.generate_report()}" if found.violations_count else ""
