"""Additions of the inbox to `alerts.listing`: filter choices, a search, since when, each row."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth import get_user_model
from django.db.models import Case, Exists, Min, OuterRef, Q, QuerySet, When
from django.utils import timezone

from dashboard.alerts.core.costs import PAID, Cost, Paid
from dashboard.alerts.selectors import alerts, facts
from dashboard.alerts.selectors.alerts import AlertSummary
from dashboard.alerts.selectors.reversals import (
    LaterChange,
    reversal_in_list,
    with_later_changes,
)
from dashboard.catalog.core.versions import version_order
from dashboard.catalog.selectors.lookups import offered_keys
from dashboard.language.metrics import METRICS
from dashboard.models import (
    Alert,
    AlertGroup,
    AlertState,
    Cause,
    Direction,
    EvidenceState,
    Kind,
    Machine,
    Run,
    Series,
    TorchBuild,
    Track,
    WorkflowState,
)

OPENED = {  # value of the filter -> its label
    "day": "last 24 h",
    "week": "last 7 days",
    "release": "since the newest release",
}
FILTERS = (
    "state",
    "evidence_state",
    "workflow_state",
    "severity",
    "cause",
    "direction",
    "kind",
    "machine",
    "track",
    "family",
    "assignee",
)
FIXED_CHOICES: dict[str, list[str]] = {
    "state": [alerts.EVERYTHING, *AlertState.values],
    "evidence_state": EvidenceState.values,
    "workflow_state": WorkflowState.values,
    "severity": [*alerts.RANK],
    "cause": Cause.values,
    "direction": [alerts.EVERYTHING, *Direction.values],
    "kind": Kind.values,
}
"""Of the filters whose values are the same on every site."""
_MOST = 500  # lines of the queue
_OLD = timedelta(days=30)
_HEADINGS: dict[str, tuple[Paid, ...]] = {
    "Failures": ("failure",),
    "Every step": ("step",),
    "Every start": ("start",),
    "Everything else": ("else", "setting"),
}
_LENGTHS = {"day": timedelta(days=1), "week": timedelta(days=7)}


def choices(machine: str = "", track: str = "") -> dict[str, list[str]]:
    """List the values that each filter of the inbox can be set to. Four queries more than
    FIXED_CHOICES.

    machine, track: as chosen; a hidden one is a choice only where it is.
    """
    with_alerts = Series.objects.filter(alerts__isnull=False)
    families = with_alerts.values_list("benchmark__family", flat=True)
    assignees = get_user_model().objects.filter(alert_groups__isnull=False)
    names = assignees.values_list("username", flat=True)
    return FIXED_CHOICES | {
        "machine": offered_keys(Machine, machine),
        "track": offered_keys(Track, track),
        "family": sorted(set(families)),
        "assignee": [alerts.NOBODY, *sorted(set(names))],
    }


def listing(chosen: Mapping[str, str], now: datetime) -> QuerySet[AlertGroup]:
    """As `alerts.listing`, narrowed by the search `q` and by when it was `opened`."""
    groups = matching(alerts.listing(chosen), chosen.get("q", ""))
    return opened(groups, chosen.get("opened", ""), now)


def most_urgent_first(groups: QuerySet[AlertGroup]) -> QuerySet[AlertGroup]:
    """By severity, of the same the newest first."""
    ranks = [When(severity=severity, then=rank) for severity, rank in alerts.RANK.items()]
    return groups.order_by(Case(*ranks), "-created_at", "-pk")


def matching(groups: QuerySet[AlertGroup], text: str) -> QuerySet[AlertGroup]:
    """Groups in which each word of ``text`` is found: a model, metric, cause, build or assignee."""
    for word in text.split():
        groups = groups.filter(_about(word))
    return groups


def _about(word: str) -> Q:
    lower = word.lower()
    metrics = []
    for key, metric in METRICS.items():
        if lower in key or lower in metric.label.lower():
            metrics.append(key)
    causes = [cause for cause in Cause if lower in cause.value or lower in cause.label.lower()]
    of_series = Q(series__benchmark__name__icontains=word) | Q(series__config__name__icontains=word)
    about = of_series | Q(series__metric__in=metrics)
    of_group = Alert.objects.filter(about, group=OuterRef("pk"))
    own = Q(title__icontains=word) | Q(cause__in=causes) | Q(Exists(of_group))
    related = Q(assignee__username__icontains=word) | Q(machine__key__icontains=word)
    return own | related | Q(new__label__icontains=word)


def opened(groups: QuerySet[AlertGroup], since: str, now: datetime) -> QuerySet[AlertGroup]:
    """Groups that were opened in the last day or week, or since the newest release came here."""
    moment = _newest_release_at() if since == "release" else None
    if length := _LENGTHS.get(since):
        moment = now - length
    return groups.filter(created_at__gte=moment) if moment else groups


def _newest_release_at() -> datetime | None:
    """Find when the newest release first ran here: alerts about it cannot be older. Two queries."""
    releases = TorchBuild.objects.filter(channel=TorchBuild.Channel.RELEASE, runs__isnull=False)
    versions = set(releases.values_list("version", flat=True))
    if not versions:
        return None
    newest = max(versions, key=_release_order).partition("+")[0]
    of_release = [version for version in versions if version.partition("+")[0] == newest]
    runs = Run.objects.filter(build__version__in=of_release)
    first: datetime | None = runs.aggregate(at=Min("created_at"))["at"]
    return first


def _release_order(version: str) -> tuple[bool, object]:
    return version_order(version.partition("+")[0])


@dataclass(frozen=True, slots=True)
class InboxRow:
    """One group as a line.

    main: the alert that stands for it, as on its page; None where it has none.
    gain: what got better next to it, as on its page.
    others: how many more series changed with these.
    cause: the likely cause in words.
    reversal: the later change that undid `main`, as on its page.
    """

    group: AlertGroup
    main: AlertSummary | None
    gain: str
    others: int
    cause: str
    reversal: LaterChange | None
    cost: Cost
    weight: float

    @property
    def is_folded(self) -> bool:
        """True if somebody has taken it, or nobody has for a month."""
        is_old = self.group.created_at < timezone.now() - _OLD
        return is_old or self.group.workflow_state != WorkflowState.NEW


@dataclass(frozen=True, slots=True)
class Section:
    """Lines of a queue under one heading."""

    heading: str
    rows: list[InboxRow]


def queue(groups: QuerySet[AlertGroup], starred: Collection[str]) -> list[InboxRow]:
    """Lines by what is paid, then by how much × how sure × whether a person starred the model."""
    every = rows(most_urgent_first(groups)[:_MOST], starred)
    return sorted(every, key=lambda row: (PAID.index(row.cost.paid), -row.weight))


def sections(listed: Sequence[InboxRow]) -> list[Section]:
    """Divide the lines by what is paid; what is folded comes last."""
    parts = []
    for heading, paid in _HEADINGS.items():
        of_part = [row for row in listed if row.cost.paid in paid and not row.is_folded]
        if of_part:
            parts.append(Section(heading, of_part))
    return parts


def rows(groups: Iterable[AlertGroup], starred: Collection[str] = ()) -> list[InboxRow]:
    """The groups as lines. One query."""
    listed = list(groups)
    by_group: dict[int, list[AlertSummary]] = {group.pk: [] for group in listed}
    alerts_of_groups = Alert.objects.filter(group__in=by_group).select_related("group")
    for summary in alerts.summaries_of(with_later_changes(alerts_of_groups)):
        by_group[summary.alert.group_id].append(summary)

    inbox = []
    for group in listed:
        summaries = by_group[group.pk]
        main = alerts.main_of(summaries)
        gain = alerts.gain_of(summaries, main)
        others = max(len(alerts.standing(summaries)) - (2 if gain else 1), 0)
        reversal = reversal_in_list(main.alert) if main else None
        cost = main.cost if main else Cost("else")
        weight = cost.weight * _certainty(main)
        if main and main.alert.series.benchmark.model in starred:
            weight *= 2
        cause = facts.cause_in_words(group)
        inbox.append(InboxRow(group, main, gain, others, cause, reversal, cost, weight))
    return inbox


def _certainty(main: AlertSummary | None) -> float:
    return 1.0 if main and main.alert.confirmation == EvidenceState.CONFIRMED else 0.5
