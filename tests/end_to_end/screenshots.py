"""Pictures of every page of a running site: python -m tests.end_to_end.screenshots
http://127.0.0.1:8000 [FOLDER].

Without FOLDER the few that the documentation shows are written to docs/screenshots, from the site
of `make demo`; with it every page, at desk and phone width, in both themes, whole. The pages are
found by following links, so the site needs a result and must be readable without signing in.

--measured writes those of the documentation that the demo does not have, from a site on which they
were measured: a search between builds. --mail FILE writes the picture of a message as it arrived;
--published that of a search in a static copy, whose address is given in place of the site's.
"""

import argparse
import email
from collections.abc import Iterator, Sequence
from email import policy
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize

from tests.builders.chromium import DESK, PHONE, chromium, drawn

DOCS = Path(__file__).parents[2] / "docs" / "screenshots"
Shown = Sequence[tuple[str, ViewportSize, str]]  # page, width, theme
SHOWN: Shown = (
    ("home", DESK, "light"),
    ("alerts", DESK, "light"),
    ("alert", DESK, "light"),
    ("alert_issue", DESK, "light"),
    ("h100-series", DESK, "dark"),
    ("h100-job", DESK, "light"),
    ("h100-benchmarks", DESK, "dark"),
    ("h200-compare", DESK, "light"),
)
MEASURED: Shown = (("bisection", DESK, "light"),)
MAIL = "candidate-mail"
MAIL_WIDTH = ViewportSize(width=720, height=100)
IMPORTED = "machine=h100-80gb-hbm3&track=import"
TRAINING = "gpt2.standard.training.autocast_bf16.static.b16"
CONFIRMED = "state=all&direction=all&evidence_state=confirmed"
Links = dict[str, tuple[str, str | None]]
LINKS: Links = {  # page -> where a link to it is found, and which
    "home": ("/?machine=h200", None),
    "alerts": ("/alerts/?state=all&direction=all", None),
    "alert": (f"/alerts/?{CONFIRMED}", "[data-row] th a"),
    "alert_issue": ("{alert}report/", None),
    "alert_rules": ("/alerts/rules/", None),
    "benchmarks": ("/benchmarks/", None),
    "series": ("/benchmarks/", "table.lines tbody th a"),
    "compare": ("/compare/", None),
    "experiments": ("/experiments/", None),
    "bisection": ("/experiments/", "tbody th a[href^='/bisections/']"),
    "runs": ("/runs/", None),
    "run": ("/runs/", "tbody th a"),
    "job": ("{series}&config=inductor", "tbody th a[href^='/jobs/']"),
    "fleet": ("/fleet/", None),
    "search": ("/search/?q=gpt2", None),
    "docs": ("/docs/", None),
    "docs_page": ("/docs/tutorial/", None),
    "glossary": ("/glossary/", None),
    "sign_in": ("/sign-in/", None),
    "not_found": ("/not-found/", None),
    "contents": ("/contents/", None),
}


DEMO: Links = {  # as LINKS, of what was recorded
    "alert": (f"/alerts/?{CONFIRMED}&machine=h100-80gb-hbm3", "[data-row] th a"),
    "h200-compare": ("/compare/?base=2.11.0&new=2.15.0&machine=h200", None),
    "h100-benchmarks": (f"/benchmarks/?{IMPORTED}", None),
    "h100-series": (
        f"/series/{TRAINING}/?{IMPORTED}&axis=release&second=cold_start_s",
        None,
    ),
    "h100-job": ("{h100-series}", "tbody th a[href^='/jobs/']"),
}


def addresses(page: Page, links: Links) -> dict[str, str]:
    """The address of each page, found by following links; a page that nothing leads to yet is left
    out.
    """
    found: dict[str, str] = {}
    for name, (start, link) in links.items():
        try:
            address = start.format(**found)
        except KeyError:  # nothing leads to the page from which this one is reached
            continue
        page.goto(address)
        targets = page.locator(link) if link else None
        if targets is None:
            found[name] = address
        elif targets.count():
            found[name] = targets.first.get_attribute("href") or address
    return found


def pictures(
    browser: Browser, site: str, theme: str, width: ViewportSize, links: Links
) -> Iterator[tuple[str, Page]]:
    """(name, page), drawn, for each page of the site."""
    page = browser.new_page(
        base_url=site, viewport=width, color_scheme="dark" if theme == "dark" else "light"
    )
    for name, address in addresses(page, links).items():
        page.goto(address)
        yield name, drawn(page)
    page.close()


def mail_picture(browser: Browser, file: Path) -> None:
    """The HTML part of a message, as a mail program shows it."""
    message = email.message_from_bytes(file.read_bytes(), policy=policy.default)
    part = message.get_body(("html",))
    assert part is not None, f"{file} has no HTML part"
    page = browser.new_page(viewport=MAIL_WIDTH)
    page.set_content(part.get_content())
    page.screenshot(path=DOCS / f"{MAIL}.png", full_page=True)
    page.close()


def published_picture(browser: Browser, copy: str) -> None:
    """A search in a static copy: what `manage.py publish` wrote, behind any web server."""
    page = browser.new_page(base_url=copy, viewport=DESK, color_scheme="light")
    page.goto("/")
    drawn(page)
    page.get_by_role("searchbox").fill("gpt2")
    page.get_by_role("searchbox").press("Enter")
    page.wait_for_url("**/contents/**")
    drawn(page).screenshot(path=DOCS / "published-desk-light.png")
    page.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("site", help="its address")
    parser.add_argument("folder", type=Path, nargs="?", help="for every page, whole")
    parser.add_argument("--measured", action="store_true", help="what the demo does not have")
    parser.add_argument("--mail", type=Path, help="a message about a release candidate")
    parser.add_argument("--published", action="store_true", help="SITE is a static copy")
    options = parser.parse_args()
    target = options.folder or DOCS
    target.mkdir(parents=True, exist_ok=True)
    shown = MEASURED if options.measured else SHOWN
    links = LINKS if options.folder or options.measured else LINKS | DEMO
    with chromium() as browser:
        if options.mail:
            mail_picture(browser, options.mail)
            return
        if options.published:
            published_picture(browser, options.site)
            return
        for theme in ("light", "dark"):
            for width in (DESK, PHONE):
                for name, page in pictures(browser, options.site, theme, width, links):
                    if options.folder or (name, width, theme) in shown:
                        kind = "phone" if width is PHONE else "desk"
                        page.screenshot(
                            path=target / f"{name}-{kind}-{theme}.png",
                            full_page=options.folder is not None,
                        )


if __name__ == "__main__":
    main()
