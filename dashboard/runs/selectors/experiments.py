"""Experiments in one list: comparisons of builds, and searches for the build of a change."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet, Value

from dashboard.language.wording import metric_of, plural
from dashboard.models import Bisection, Comparison

Row = tuple[str, int, Any]  # kind, id, when it was started


@dataclass(frozen=True, slots=True)
class Experiment:
    """about: how it is measured, or where it stands. state: of a search."""

    kind: str
    of: Comparison | Bisection
    name: str
    about: str
    state: str = ""


def listed() -> QuerySet[Any, Row]:
    """All of them, the newest first."""
    comparisons = Comparison.objects.order_by().annotate(kind=Value("comparison"))
    searches = Bisection.objects.order_by().annotate(kind=Value("search"))
    columns = ("kind", "pk", "created_at")
    both = comparisons.values_list(*columns).union(searches.values_list(*columns), all=True)
    return both.order_by("-created_at")


def read(rows: Iterable[Row]) -> list[Experiment]:
    """These in full, in their order. Two queries."""
    ids = [(kind, pk) for kind, pk, _ in rows]
    related = ("base", "new", "machine", "created_by")
    comparisons = Comparison.objects.select_related(*related, "track")
    by_id = comparisons.in_bulk([pk for kind, pk in ids if kind == "comparison"])
    searches = Bisection.objects.select_related(*related, "benchmark", "config", "low", "high")
    searched = searches.in_bulk([pk for kind, pk in ids if kind == "search"])
    experiments = []
    for kind, pk in ids:
        if kind == "comparison":
            comparison = by_id[pk]
            about = plural(comparison.repeats, "process a case", "processes a case")
            word = "release candidate" if comparison.track_id else kind
            experiments.append(Experiment(word, comparison, str(comparison), about))
        else:
            search = searched[pk]
            name = f"{search.benchmark.name} {search.config.name}"
            metric = metric_of(search.metric).label.lower()
            about = f"{metric} between {search.low} and {search.high}"
            experiments.append(Experiment(kind, search, name, about, search.state))
    return experiments
