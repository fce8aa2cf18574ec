"""Series that should stay while a trend moves: its eager control, its pinned tracks."""

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
    configs = [member.config_id for member in of]
    compiled = [member.config_id for member in of if member.config.name != EAGER]
    pinned = Q(metric=first.metric, config__in=configs, track__kind=Track.Kind.PINNED)
    pinned &= ~Q(track=first.track_id)
    eager = Q(metric=CONTROLS.get(first.metric, ""), config__in=compiled, track=first.track_id)
    controls = Series.objects.filter(
        pinned | eager, benchmark=first.benchmark_id, machine=first.machine_id, count__gt=0
    ).order_by("config__position", "track__key")
    return list(controls.select_related("config", "track"))


def lines(of: Sequence[Series], within: Window = EVER) -> list[ChartLine]:
    """Their data, each named by what it is. Two queries, and one for each further track."""
    by_kind: dict[tuple[int, str], list[Series]] = {}
    for control in series(of):
        by_kind.setdefault((control.track_id, control.metric), []).append(control)
    lines = []
    for group in by_kind.values():
        track = group[0].track
        for line in TrendSeries(group).lines(group, within=within):
            is_pinned = track.pk != of[0].track_id
            name = f"{line.name} on {track}" if is_pinned else f"eager beside {line.name}"
            lines.append(replace(line, name=name))
    return lines
