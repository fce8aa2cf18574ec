"""Pictures of every page of a running site: python -m tests.end_to_end.screenshots
http://127.0.0.1:8000 [FOLDER].

Without FOLDER the few that the documentation shows are written to docs/screenshots, from the site
of `make demo`; with it every page, at desk and phone width, in both themes, whole. The pages are
found by following links, so the site needs a result and must be readable without signing in.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize

from tests.builders.chromium import DESK, PHONE, chromium, drawn

DOCS = Path(__file__).parents[2] / "docs" / "screenshots"
SHOWN = (  # page, width, theme
    ("overview", DESK, "light"),
    ("alerts", DESK, "light"),
    ("alert", DESK, "light"),
    ("h100-series", DESK, "dark"),
    ("h100-job", DESK, "light"),
    ("h100-benchmarks", DESK, "dark"),
    ("h100-compare", DESK, "light"),
    ("advisor", DESK, "light"),
)
IMPORTED = "machine=h100-80gb-hbm3&track=import"
TRAINING = "gpt2.standard.training.autocast_bf16.static.b16"
Links = dict[str, tuple[str, str | None]]
LINKS: Links = {  # page -> where a link to it is found, and which
    "overview": ("/", None),
    "alerts": ("/alerts/?state=all&direction=all", None),
    "alert": ("/alerts/?state=all&direction=all", "[data-row] th a"),
    "alert_quality": ("/alerts/quality/", None),
    "alert_rules": ("/alerts/rules/", None),
    "benchmarks": ("/benchmarks/", None),
    "series": ("/benchmarks/", "table.lines tbody th a"),
    "advisor_list": ("/advisor/", None),
    "advisor": ("/advisor/", "tbody th a"),
    "versions": ("/versions/", None),
    "compare": ("/compare/", None),
    "comparisons": ("/comparisons/", None),
    "bisections": ("/bisections/", None),
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
}


DEMO: Links = {  # as LINKS, of what was recorded
    "h100-compare": ("/compare/?base=2.11.0&new=2.13.0&machine=h100-80gb-hbm3", None),
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
        page.goto(start.format(**found))
        targets = page.locator(link) if link else None
        if targets is None:
            found[name] = start
        elif targets.count():
            found[name] = targets.first.get_attribute("href") or start
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


def main(site: str, folder: Path | None) -> None:
    target = folder or DOCS
    target.mkdir(parents=True, exist_ok=True)
    links = LINKS if folder else LINKS | DEMO
    with chromium() as browser:
        for theme in ("light", "dark"):
            for width in (DESK, PHONE):
                for name, page in pictures(browser, site, theme, width, links):
                    if folder or (name, width, theme) in SHOWN:
                        kind = "phone" if width is PHONE else "desk"
                        page.screenshot(
                            path=target / f"{name}-{kind}-{theme}.png", full_page=folder is not None
                        )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else None)
