"""A Chromium for the tests and the screenshots: CHROMIUM, else the system's, else Playwright's."""

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, ViewportSize, expect, sync_playwright

DESK, PHONE = ViewportSize(width=1440, height=900), ViewportSize(width=390, height=844)
LAUNCH_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# Records every violation of the content security policy; the console would name only some.
_WATCH_POLICY = """
    window.policyViolations = [];
    document.addEventListener("securitypolicyviolation", (event) =>
        window.policyViolations.push(`${event.violatedDirective} ${event.sourceFile}`));
"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser that ends with the block."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*LAUNCH_OPTIONS])
        try:
            yield browser
        finally:
            browser.close()


def drawn(page: Page) -> Page:
    """The page, once its charts are drawn."""
    expect(page.locator("[aria-busy=true]")).to_have_count(0, timeout=20_000)
    return page


def _watch(page: Page) -> list[str]:
    """The page's errors from now on: on the console, and uncaught exceptions."""
    errors: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error":
            errors.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.add_init_script(_WATCH_POLICY)
    return errors


def phone_problems(page: Page, addresses: Iterable[str]) -> list[str]:
    """What is wrong with pages on a phone: width, content security policy, script errors."""
    errors, problems = _watch(page), []
    page.set_viewport_size(PHONE)
    for address in addresses:
        page.goto(address)
        width = drawn(page).evaluate("document.documentElement.scrollWidth")
        if width > PHONE["width"]:
            problems.append(f"{address} is {width} px wide")
        for violation in page.evaluate("window.policyViolations"):
            problems.append(f"{address} breaks the policy: {violation}")
    return problems + errors


def accessibility_violations(page: Page, address: str) -> str:
    """What axe finds on the page, as text; empty when it finds nothing."""
    page.goto(address)
    results = Axe().run(drawn(page), options={"resultTypes": ["violations"]})
    if not results.violations_count:
        return ""
    return f"\n{address}\n{results.generate_report()}"
