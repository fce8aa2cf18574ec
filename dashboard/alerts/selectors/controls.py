"""What should stay where it is while a config's trend moves: its eager control, and the same case
on pinned tracks.
"""

from collections.abc import Sequence
from dataclasses import replace

from django.db.models import Q

from dashboard.alerts.selectors.facts import CONTROLS
from dashboard.language.metrics import EAGER
from dashboard.models import Series, Track
from dashboard.results.selectors.trend import EVER, TrendSeries, Window
from dashboard.ui.charts import ChartLine


def series(of: Sequence[Series]) -> list[Series]:
    """The control series of these, all of one benchmark, metric, machine and track. One query."""
    if not of:
        return []
    first = of[0]
    configs = [one.config_id for one in of]
    compiled = [one.config_id for one in of if one.config.name != EAGER]
    pinned = Q(metric=first.metric, config__in=configs, track__kind=Track.Kind.PINNED) & ~Q(
        track=first.track_id
    )
    eager = Q(metric=CONTROLS.get(first.metric, ""), config__in=compiled, track=first.track_id)
    found = Series.objects.filter(
        pinned | eager, benchmark=first.benchmark_id, machine=first.machine_id, count__gt=0
    )
    return list(found.select_related("config", "track").order_by("config__position", "track__key"))


def lines(of: Sequence[Series], within: Window = EVER) -> list[ChartLine]:
    """Their data, each named by what it is. Two queries, and one for each further track."""
    by_kind: dict[tuple[int, str], list[Series]] = {}
    for one in series(of):
        by_kind.setdefault((one.track_id, one.metric), []).append(one)
    return [
        replace(
            line,
            name=f"{line.name} on {group[0].track}"
            if group[0].track_id != of[0].track_id
            else f"eager beside {line.name}",
        )
        for group in by_kind.values()
        for line in TrendSeries(group).lines(group, within=within)
    ]
