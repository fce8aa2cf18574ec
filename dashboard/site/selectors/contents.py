"""Every page of results that there is, by kind: what a copy of the site is made from."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from dashboard.models import AlertGroup, Benchmark, Comparison, Series


@dataclass(frozen=True, slots=True)
class PageLink:
    title: str
    url: str


@dataclass(frozen=True, slots=True)
class PageList:
    title: str
    links: list[PageLink]


def page_lists() -> list[PageList]:
    """The lists that have a page. Four queries."""
    lists = [
        PageList("Results by machine and track", _tracks()),
        PageList("Comparisons", _comparisons()),
        PageList("Alerts", _alerts()),
        PageList("Benchmarks over time", _benchmarks()),
    ]
    return [pages for pages in lists if pages.links]


def _tracks() -> list[PageLink]:
    series = Series.objects.filter(machine__hidden=False, track__hidden=False)
    pairs = series.order_by().values_list("machine__key", "track__key").distinct()
    links = []
    for machine, track in sorted(pairs):
        query = urlencode({"machine": machine, "track": track})
        links.append(PageLink(f"{machine}, {track}", f"{reverse('benchmarks')}?{query}"))
    return links


def _comparisons() -> list[PageLink]:
    shown = Comparison.objects.exclude(machine__hidden=True)
    comparisons = shown.select_related("base", "new", "machine").order_by("-created_at")
    return [PageLink(str(each), each.get_absolute_url()) for each in comparisons]


def _alerts() -> list[PageLink]:
    """All of them, closed ones, too: the inbox links to open ones alone."""
    shown = AlertGroup.objects.exclude(machine__hidden=True).exclude(track__hidden=True)
    return [PageLink(group.title, group.get_absolute_url()) for group in shown]


def _benchmarks() -> list[PageLink]:
    shown = Series.objects.filter(machine__hidden=False, track__hidden=False, count__gt=0)
    measured = Benchmark.objects.filter(pk__in=shown.values("benchmark")).order_by("name")
    return [PageLink(each.name, reverse("series", args=[each.name])) for each in measured]
