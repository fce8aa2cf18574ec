"""What the search box finds: models, benchmarks, configs, builds, alerts and runs whose name has
every word.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any

from django.db.models import (
    Case,
    Count,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)

from dashboard.alerts.selectors.alerts import OPEN
from dashboard.models import AlertGroup, Benchmark, Config, Run, Series, TorchBuild

MOST = 5  # of each kind
MOST_WORDS = 6
_NUMBER = 2**31  # ids are smaller; a longer number is no id


@dataclass(frozen=True, slots=True)
class Found:
    """The first few of each kind, the best first."""

    models: list[tuple[str, str, int]]  # (model, family, how many benchmarks)
    benchmarks: list[Benchmark]
    configs: list[Config]
    # With `machine` and `track`: the keys of where they were measured last, or None
    builds: list[TorchBuild]
    alerts: list[AlertGroup]
    runs: list[Run]

    @property
    def total(self) -> int:
        return sum(len(getattr(self, kind)) for kind in self.__slots__)


def search(text: str) -> Found | None:
    """What has every word of ``text``; a number is an alert's or a run's id, too. None without a
    word. Six queries.
    """
    words = text.split()[:MOST_WORDS]
    if not words:
        return None
    known = Benchmark.objects.filter(Q(retired=False) | Q(imported=True))
    models = (
        known.filter(_has(words, "model", "family"))
        .order_by("model")
        .values_list("model", "family")
    )
    return Found(
        models=list(models.annotate(number=Count("pk"))[:MOST]),
        benchmarks=list(_benchmarks(known.filter(_has(words, "name", "family")))),
        configs=list(Config.objects.filter(_has(words, "name", "label"), retired=False)[:MOST]),
        builds=_builds(words),
        alerts=_alerts(words),
        runs=list(_runs(words)),
    )


def _has(words: Iterable[str], *fields: str) -> Q:
    """Every word is in one of the fields, whatever its case."""
    return reduce(
        and_,
        (
            reduce(Q.__or__, (Q(**{f"{field}__icontains": word}) for field in fields))
            for word in words
        ),
    )


def _or_id(words: list[str], *fields: str) -> Q:
    found = _has(words, *fields)
    number = words[0].removeprefix("#")
    is_id = len(words) == 1 and number.isascii() and number.isdecimal() and int(number) < _NUMBER
    return found | Q(pk=int(number)) if is_id else found


def _benchmarks(found: QuerySet[Benchmark]) -> QuerySet[Benchmark]:
    """Those that were measured first."""
    is_measured = Exists(Series.objects.filter(benchmark=OuterRef("pk")))
    return found.order_by(is_measured.desc(), "position", "name")[:MOST]


def _builds(words: list[str]) -> list[TorchBuild]:
    last = Run.objects.filter(build=OuterRef("pk")).order_by("-created_at")
    where: dict[str, Any] = {
        name: Subquery(last.values(f"{name}__key")[:1]) for name in ("machine", "track")
    }
    found = TorchBuild.objects.filter(_has(words, "label", "git_sha", "channel"))
    return list(found.annotate(**where).order_by("-created_at", "-pk")[:MOST])


def _alerts(words: list[str]) -> list[AlertGroup]:
    """Open ones first, then the newest."""
    is_open = Case(
        When(state__in=OPEN, then=Value(0)), default=Value(1), output_field=IntegerField()
    )
    found = AlertGroup.objects.filter(_or_id(words, "title", "cause", "state"))
    return list(
        found.only("title", "state", "severity", "created_at").order_by(is_open, "-created_at")[
            :MOST
        ]
    )


def _runs(words: list[str]) -> QuerySet[Run]:
    found = Run.objects.filter(_or_id(words, "label", "build__label", "machine__key"))
    return found.select_related("build", "machine").order_by(F("created_at").desc())[:MOST]
