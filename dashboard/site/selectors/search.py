"""The search over the names of models, benchmarks, configs, builds, alerts and runs, over the words
of the glossary, and over the documentation.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Case, Count, Exists, Min, OuterRef, Q, Subquery, When

from dashboard.alerts.selectors.alerts import OPEN
from dashboard.catalog.selectors.ranking import name_rank
from dashboard.language.glossary import WORDS
from dashboard.language.metrics import METRICS
from dashboard.language.reading import read_numbers
from dashboard.models import AlertGroup, Benchmark, Config, Run, Series, TorchBuild
from dashboard.site import documentation

MOST = 5  # of each kind
MOST_WORDS = 6
_SHOWN = Q(machine__hidden=False, track__hidden=False)
"""Runs that are not of a hidden machine or track."""


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The first few of each kind, the best first."""

    models: list[tuple[str, str, int]]  # (model, family, how many benchmarks)
    benchmarks: list[Benchmark]
    configs: list[Config]
    # With `machine` and `track`: the keys of where they were measured last, or None
    builds: list[TorchBuild]
    alerts: list[AlertGroup]
    runs: list[Run]
    words: list[tuple[str, str, str]]  # of the glossary: (key, word, what it means)
    pages: list[documentation.Hit]  # each page once, with the part that fits best

    @property
    def total(self) -> int:
        return sum(len(getattr(self, kind)) for kind in self.__slots__)


def search(text: str) -> SearchResults | None:
    """Find what has every word of ``text``; None without a word. Six queries.

    A model, config or build that is called as a word says comes before those whose name only has
    the word in it; then comes what was measured most. A number is looked up as an alert's or a
    run's id as well. The documentation is looked through by its text, the rest by names.
    """
    words = text.split()[:MOST_WORDS]
    if not words:
        return None
    benchmarks = Benchmark.objects.filter(Q(retired=False) | Q(imported=True))
    by_model = name_rank(words, "model")
    models = benchmarks.filter(_has(words, "model", "family")).values_list("model")
    counted = models.annotate(Min("family"), Count("pk", distinct=True), used=Count("series"))
    named = benchmarks.filter(_has(words, "name", "family", "original"))
    used = named.annotate(used=Count("series"))
    is_imported = Exists(Series.objects.filter(config=OuterRef("pk"), benchmark__imported=True))
    shown_configs = Config.objects.filter(Q(retired=False) | is_imported)
    configs = shown_configs.filter(_has(words, "name", "label"))
    by_name = name_rank(words, "name")
    runs = Run.objects.filter(_has_or_id(words, "run", "label", "build__label", "machine__key"))
    shown_runs = runs.filter(_SHOWN).select_related("build", "machine").order_by("-created_at")
    return SearchResults(
        models=[model[:3] for model in counted.order_by(by_model, "-used", "model")[:MOST]],
        benchmarks=list(used.order_by(by_model, "-used", "position", "name")[:MOST]),
        configs=list(configs.order_by(by_name, "position", "name")[:MOST]),
        builds=_builds(words),
        alerts=_alerts(words),
        runs=list(shown_runs[:MOST]),
        words=_words(words),
        pages=_pages(words),
    )


def _has(words: Iterable[str], *fields: str) -> Q:
    """Every word is in one of the fields, in upper or lower case."""
    condition = Q()
    for word in words:
        condition &= reduce(or_, (Q(**{f"{field}__icontains": word}) for field in fields))
    return condition


def _has_or_id(words: list[str], kind: str, *fields: str) -> Q:
    """As `_has`, or the row of that number: 7, #7, and its kind before it, as "alert 7"."""
    condition = _has(words, *fields)
    named = words[1:] if words[0].casefold() == kind else words
    ids = read_numbers([named[0].removeprefix("#")]) if len(named) == 1 else []
    return condition | Q(pk=ids[0]) if ids else condition


def _builds(words: list[str]) -> list[TorchBuild]:
    last = Run.objects.filter(_SHOWN, build=OuterRef("pk")).order_by("-created_at")
    where: dict[str, Any] = {
        name: Subquery(last.values(f"{name}__key")[:1]) for name in ("machine", "track")
    }
    builds = TorchBuild.objects.filter(_has(words, "label", "git_sha", "channel"))
    ranked = builds.annotate(**where).order_by(name_rank(words, "label"), "-created_at", "-pk")
    return list(ranked[:MOST])


def _words(words: list[str]) -> list[tuple[str, str, str]]:
    """Find terms and metrics: those of just that name first, then those that begin with it."""
    text = " ".join(words).casefold()
    entries = [(word, word, about) for word, about in WORDS.items()]
    entries += [(metric.key, metric.label, metric.about) for metric in METRICS.values()]
    hits = []
    for key, word, about in entries:
        name = f"{word} {key}".casefold()
        if all(part in name for part in text.split()):
            hits.append((key, word, about))
    hits.sort(key=lambda hit: (hit[1].casefold() != text, not hit[1].casefold().startswith(text)))
    return hits[:MOST]


def _pages(words: list[str]) -> list[documentation.Hit]:
    first_of_each: dict[str, documentation.Hit] = {}
    for hit in documentation.search(" ".join(words), documentation.pages()):
        first_of_each.setdefault(hit.page.slug, hit)
    return list(first_of_each.values())[:MOST]


def _alerts(words: list[str]) -> list[AlertGroup]:
    """Open ones first, then the newest."""
    is_open = Case(When(OPEN, then=0), default=1)
    groups = AlertGroup.objects.filter(
        _has_or_id(words, "alert", "title", "cause", "evidence_state", "workflow_state")
    )
    shown = groups.only("title", "evidence_state", "workflow_state", "direction", "created_at")
    return list(shown.order_by(is_open, "-created_at")[:MOST])
