"""What a visitor waits for and loads, in Chromium: until the chart is drawn, and what travels.

    manage.py shell -c "from tests.builders.pages import history; history(20000, 500)"
        makes the history
    python tests/perf/drawing.py http://127.0.0.1:8000
        of a running site on the same database, PUBLIC_READ on

A cell of the benchmarks page is clicked that leads to a series of 5,000 points, then to one of
100,000; the time ends when the chart is drawn. Both series are written for this alone and deleted
afterwards. What travels is what Chromium received, headers included: of a first visit to a page
with a chart, and of each later page without the chart's data. At last a first visit to a page with
a chart is timed on a line of 10 Mbit/s, until the chart is drawn.
"""

import os
import statistics
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")

import django

django.setup()

from playwright.sync_api import Browser, Page

from dashboard.models import Series
from tests.builders.chromium import DESK, chromium, drawn
from tests.perf.long_series import LONG, kept_series

REPEATS = 5
DRAWN_MS = {5_000: 1_000}
FIRST_KB, LATER_KB = 700, 60
FIRST_DRAWN_MS = 1_500
LINE = {
    "offline": False,
    "latency": 20,  # ms
    "downloadThroughput": 10e6 / 8,  # bytes a second
    "uploadThroughput": 10e6 / 8,
}
_CHART_DATA = ("data.json", "controls.json")
_NOTE_THE_CLICK = "addEventListener('click', () => sessionStorage.clicked = Date.now(), true)"
_IS_DRAWN = """
    () => document.querySelector(".plot .main-svg") && !document.querySelector("[aria-busy=true]")
"""
_SINCE_THE_CLICK = f"{_IS_DRAWN} && Date.now() - sessionStorage.clicked"


def place(series: Series) -> str:
    return f"machine={series.machine.key}&track={series.track.key}"


def _visitor(site: str) -> dict[str, Any]:
    """One whose waits may be scripts in the page, which the site's policy forbids."""
    return {"base_url": site, "viewport": DESK, "bypass_csp": True}


def measure_drawing(browser: Browser, site: str, series: list[Series]) -> list[str]:
    """Print the times of each series; return what is over its bound."""
    page = browser.new_page(**_visitor(site))
    page.add_init_script(_NOTE_THE_CLICK)
    over = []
    for shown in series:
        times = [click(page, shown) for _ in range(REPEATS + 1)][1:]  # the first fills the caches
        median, worst = statistics.median(times), max(times)
        print(
            f"drawn {median:5.0f} ms after the click, {worst:.0f} at worst: {shown.count:,} points"
        )
        bound = DRAWN_MS.get(shown.count)
        if bound and median > bound:
            over.append(f"{shown.count:,} points are drawn in {median:.0f} ms")
    page.close()
    return over


def click(page: Page, series: Series) -> float:
    """Milliseconds from the click on a cell of the benchmarks page until the chart of its series is
    drawn.
    """
    page.goto(f"/benchmarks/?{place(series)}&metric=latency_ms")
    page.locator("table.lines tbody td a").first.click(no_wait_after=True)
    page.wait_for_url("**/series/**", wait_until="commit")
    return float(page.wait_for_function(_SINCE_THE_CLICK, timeout=60_000).json_value())


class Traffic:
    """Everything that a page of its own, with an empty cache, receives."""

    def __init__(self, browser: Browser, site: str) -> None:
        self._context = browser.new_context(base_url=site, viewport=DESK)
        self._page = self._context.new_page()
        self._addresses: dict[str, str] = {}
        self._received: dict[str, float] = {}
        session = self._context.new_cdp_session(self._page)
        session.send("Network.enable")
        session.on("Network.requestWillBeSent", self._sent)
        session.on("Network.loadingFinished", self._finished)

    def _sent(self, event: dict[str, Any]) -> None:
        self._addresses[event["requestId"]] = event["request"]["url"]

    def _finished(self, event: dict[str, Any]) -> None:
        self._received[event["requestId"]] = event["encodedDataLength"]

    def visit(self, address: str) -> float:
        """kB that travel until the page is drawn, without the data of its charts."""
        self._received.clear()
        self._page.goto(address, wait_until="networkidle")
        drawn(self._page)
        total = 0.0
        for request, size in self._received.items():
            path, _, _ = self._addresses[request].partition("?")
            if not path.endswith(_CHART_DATA):
                total += size
        return total / 1000


def measure_traffic(browser: Browser, site: str, series: Series) -> list[str]:
    """Print what each page weighs; return what is over its bound."""
    traffic = Traffic(browser, site)
    query = place(series)
    trend = f"/series/{series.benchmark}/?{query}"
    lists = [f"/{page}?{query}" for page in ("", "benchmarks/", "compare/")]
    over = []

    first = traffic.visit(trend)
    print(f"{first:8,.0f} kB  first visit, to a page with a chart")
    if first > FIRST_KB:
        over.append(f"a first visit loads {first:,.0f} kB")
    for address in (*lists, "/alerts/", "/runs/", "/fleet/", trend):
        later = traffic.visit(address)
        print(f"{later:8,.1f} kB  {address}")
        if later > LATER_KB:
            over.append(f"{address} loads {later:,.0f} kB")
    return over


def measure_first_drawing(browser: Browser, site: str, series: Series) -> list[str]:
    """Print how long a first visitor waits for a chart on LINE; what is over its bound."""
    times = []
    for _ in range(REPEATS):
        context = browser.new_context(**_visitor(site))  # with an empty cache
        page = context.new_page()
        context.new_cdp_session(page).send("Network.emulateNetworkConditions", LINE)
        page.goto(f"/series/{series.benchmark}/?{place(series)}", wait_until="commit")
        page.wait_for_function(_IS_DRAWN)
        times.append(page.evaluate("performance.now()"))
        context.close()
    median = statistics.median(times)
    print(f"drawn {median:5.0f} ms after a first visitor came, at 10 Mbit/s")
    if median > FIRST_DRAWN_MS:
        return [f"a first visitor's chart is drawn in {median:.0f} ms"]
    return []


def main(site: str) -> int:
    measured = Series.objects.filter(metric="latency_ms", count__gt=0)
    usual = measured.select_related("benchmark", "machine", "track").order_by("-count")[0]
    with kept_series(*LONG[0]) as long, kept_series(*LONG[1]) as longest, chromium() as browser:
        over = measure_drawing(browser, site, [long, longest])
        over += measure_traffic(browser, site, usual)
        over += measure_first_drawing(browser, site, usual)
    print(f"Over their bounds: {'; '.join(over) or 'none'}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
