"""A Chromium for the tests and the screenshots: CHROMIUM, else the system's, else Playwright's."""

import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)

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
# Rows that a phone shows as blocks have to fit: nobody looks for what is beyond their edge
_CUT_TEXT = """[...document.querySelectorAll("table.stack")].filter(table => {
  const frame = table.closest(".scroll");
  return frame && frame.scrollWidth > frame.clientWidth + 1;
}).map(table => table.innerText.slice(0, 60))"""
_WATCH_POLICY = """
    window.policyViolations = [];
    document.addEventListener("securitypolicyviolation", (event) =>
        window.policyViolations.push(`${event.violatedDirective} ${event.sourceFile}`));
"""

_RULES: dict[Literal["light", "dark"], dict[str, Any]] = {
    "light": {},
    "dark": {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}},
}


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


def wait_until_true(page: Page, condition: str, patience_s: float = 30) -> None:
    """Until a JavaScript expression is true on the page.

    Playwright's wait_for_function would have the page itself evaluate the text at every look but
    the first, which the site's content security policy forbids.
    """
    deadline = time.monotonic() + patience_s
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, f"never true on {page.url}: {condition}"
        page.wait_for_timeout(50)


def errors_of(context: BrowserContext) -> list[str]:
    """The errors of its pages from now on: on the console, uncaught exceptions, absent scripts.

    A page, a frame or data that the site refuses are the test's own affair. A request under way
    when a page was left is nobody's: htmx writes two lines for it.
    """
    errors: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.text.startswith(("htmx:send", "htmx:afterRequest")):
            return
        is_refusal = message.text.startswith(("Failed to load resource", "Framing"))
        if message.type == "error" and not (
            is_refusal and "/static/" not in message.location["url"]
        ):
            errors.append(message.text)

    context.on("console", note)
    context.on("weberror", lambda error: errors.append(str(error.error)))
    return errors


def phone_problems(page: Page, addresses: Iterable[str]) -> list[str]:
    """List what is wrong with pages on a phone: their width, rows cut off, and the content security
    policy.
    """
    problems = []
    page.add_init_script(_WATCH_POLICY)
    page.set_viewport_size(PHONE)
    for address in addresses:
        page.goto(address)
        width = drawn(page).evaluate("document.documentElement.scrollWidth")
        if width > PHONE["width"]:
            problems.append(f"{address} is {width} px wide")
        for cut in page.evaluate(_CUT_TEXT):
            problems.append(f"{address} cuts off: {cut}")
        for violation in page.evaluate("window.policyViolations"):
            problems.append(f"{address} breaks the policy: {violation}")
    return problems


def accessibility_violations(page: Page, address: str = "") -> str:
    """Report what axe finds on the page in either theme, as text; empty when it finds nothing. No
    address: the page as it is.

    The page is loaded once. In the dark theme only the colours are others.
    """
    if address:
        page.goto(address)
    reports = []
    for theme, rules in _RULES.items():
        page.emulate_media(color_scheme=theme)
        if "/admin/" in page.url:  # its script looks at the theme when the page is loaded
            page.evaluate(f"document.documentElement.classList.toggle('dark', {theme == 'dark':d})")
        wait_until_true(page, "!document.getAnimations().some(it => it instanceof CSSTransition)")
        results = Axe().run(drawn(page), options={"resultTypes": ["violations"], **rules})
        if results.violations_count:
            reports.append(f"\n{address or page.url}, {theme}\n{results.generate_report()}")
    return "".join(reports)
