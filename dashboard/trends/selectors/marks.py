"""What people and the detector have said about the series of a page: alerts, invalid points,
remarks, mutes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from django.db import connection

from dashboard.language.metrics import Metric
from dashboard.language.wording import ValueChange, effect
from dashboard.models import Benchmark, Series

# One statement: the page's figure is asked for often, and each of these tables holds little of a
# series.
_MARKS = """
    SELECT 'alert', alert.series_id, extract(epoch FROM alert.planned_at)::float8, alert_group.state,
           alert_group.id::text, alert.unit, alert.direction, alert.effect, alert.low, alert.high
    FROM dashboard_alert AS alert JOIN dashboard_alertgroup AS alert_group ON alert_group.id = alert.group_id
    WHERE alert.series_id = ANY(%(series)s) AND alert_group.state NOT IN ('invalid', 'not_reproduced')
    UNION ALL
    SELECT 'invalid', series_id, NULL, reason, job_id::text, '', '', NULL, NULL, NULL
    FROM dashboard_invalidpoint WHERE series_id = ANY(%(series)s)
    UNION ALL
    SELECT 'remark', NULL, extract(epoch FROM remark.at)::float8, remark.text, remark.id::text,
           coalesce(author.username, ''), '', NULL, NULL, NULL
    FROM dashboard_annotation AS remark LEFT JOIN auth_user AS author ON author.id = remark.by_id
    WHERE remark.benchmark_id = %(benchmark)s
    UNION ALL
    SELECT 'mute', series_id, extract(epoch FROM until)::float8, reason, '', '', '', NULL, NULL, NULL
    FROM dashboard_mute WHERE series_id = ANY(%(series)s) AND until > now()
    UNION ALL
    SELECT 'can_show', series_id, NULL, '', '', '', '', can_show_percent, NULL, NULL
    FROM dashboard_detectorstate WHERE series_id = ANY(%(series)s) AND can_show_percent IS NOT NULL
    ORDER BY 3
"""


@dataclass(frozen=True, slots=True)
class AlertMark:
    """An alert where its series changed. change: None for a status word."""

    series: int
    at: datetime
    group: int
    state: str
    direction: str
    change: ValueChange | None


@dataclass(frozen=True, slots=True)
class Remark:
    key: int
    at: datetime
    text: str
    by: str


@dataclass(frozen=True, slots=True)
class Mute:
    series: int
    until: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class Marks:
    """invalid: series -> {job: reason}. can_show: series -> the smallest change in percent that it
    shows.
    """

    alerts: list[AlertMark] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    mutes: list[Mute] = field(default_factory=list)
    invalid: dict[int, dict[str, str]] = field(default_factory=dict)
    can_show: dict[int, float] = field(default_factory=dict)


def read(benchmark: Benchmark, series: Sequence[Series], metric: Metric) -> Marks:
    """Everything that was said about ``series``, all of one ``metric``, in time order. One
    query.
    """
    marks = Marks()
    with connection.cursor() as cursor:
        cursor.execute(_MARKS, {"series": [one.pk for one in series], "benchmark": benchmark.pk})
        for kind, of, seconds, text, key, unit, direction, number, low, high in cursor.fetchall():
            at = datetime.fromtimestamp(seconds or 0, UTC)
            if kind == "alert":
                told = effect(metric, number, low, high, unit)
                marks.alerts.append(AlertMark(of, at, int(key), text, direction, told))
            elif kind == "remark":
                marks.remarks.append(Remark(int(key), at, text, unit))
            elif kind == "mute":
                marks.mutes.append(Mute(of, at, text))
            elif kind == "invalid":
                marks.invalid.setdefault(of, {})[key] = text
            else:
                marks.can_show[of] = number
    return marks
