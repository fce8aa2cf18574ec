"""Statements of people and the detector on the series of a page, and its marks on the chart.

These are alerts, invalid points, remarks and mutes; and where the file of an own model changed.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import attrgetter

from django.db import connection
from django.urls import reverse

from dashboard.alerts.core.change_size import in_words
from dashboard.detection import Limit
from dashboard.language.metrics import Metric
from dashboard.language.wording import ValueChange
from dashboard.models import Benchmark, Series
from dashboard.results.core.mark_charts import Mark, MarkedLine
from dashboard.ui.axes import milliseconds
from dashboard.ui.charts import ChartLine

# One statement: the page's figure is asked for often, and each of these tables holds little of a
# series. An alert's size is the one of Alert.size: as confirmed, else as first estimated.
_MARKS = """
    SELECT 'alert', alert.series_id, extract(epoch FROM alert.planned_at)::float8,
           alert_group.evidence_state, alert_group.id::text,
           coalesce(confirmed.unit, alert.unit),
           alert.direction,
           CASE WHEN confirmed.unit IS NULL THEN alert.effect ELSE confirmed.effect END,
           CASE WHEN confirmed.unit IS NULL THEN alert.low ELSE confirmed.low END,
           CASE WHEN confirmed.unit IS NULL THEN alert.high ELSE confirmed.high END
    FROM dashboard_alert AS alert
    JOIN dashboard_alertgroup AS alert_group ON alert_group.id = alert.group_id
    LEFT JOIN LATERAL jsonb_to_record(alert.decision -> 'confirmation')
         AS confirmed(effect float8, low float8, high float8, unit text)
         ON alert.confirmation = 'confirmed'
    WHERE alert.series_id = ANY(%(series)s)
          AND alert_group.workflow_state <> 'invalid'
          AND alert_group.evidence_state <> 'not_reproduced'
    UNION ALL
    SELECT 'invalid', series_id, NULL, reason, job_id::text, '', '', NULL, NULL, NULL
    FROM dashboard_invalidpoint WHERE series_id = ANY(%(series)s)
    UNION ALL
    SELECT 'remark', NULL, extract(epoch FROM remark.at)::float8, remark.text, remark.id::text,
           coalesce(author.username, ''), '', NULL, NULL, NULL
    FROM dashboard_annotation AS remark LEFT JOIN auth_user AS author ON author.id = remark.by_id
    WHERE remark.benchmark_id = %(benchmark)s
    UNION ALL
    SELECT 'revision', NULL, extract(epoch FROM first_at)::float8, number::text, file_hash, '', '',
           NULL, NULL, NULL
    FROM dashboard_ownrevision WHERE benchmark_id = %(benchmark)s
    UNION ALL
    SELECT 'mute', series_id, extract(epoch FROM until)::float8, reason, '', '', '',
           NULL, NULL, NULL
    FROM dashboard_mute WHERE series_id = ANY(%(series)s) AND until > now()
    UNION ALL
    SELECT 'can_show', series_id, extract(epoch FROM (state -> 'noisier' ->> 'at')::timestamptz),
           coalesce(state ->> 'limit', ''), '', '', '', can_show_percent,
           (state -> 'now' ->> 'seen')::float8,
           (state -> 'noisier' ->> 'percent')::float8
    FROM dashboard_detectorstate WHERE series_id = ANY(%(series)s)
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
class Revision:
    """Change to the file of an own model."""

    at: datetime
    number: str
    file_hash: str


@dataclass(frozen=True, slots=True)
class Noisier:
    """Growth of a series' spread while its level stayed the same: when, and by how many percent."""

    at: datetime
    percent: float


@dataclass(frozen=True, slots=True)
class Marks:
    """All of it.

    invalid: series -> {job: reason}.
    can_show: series that detection judges -> the smallest change in percent that it can show; None:
        not known yet.
    seen: series -> how many points of its newest segment detection has read.
    limits: series -> why its changes are not reported, or late. noisier: series -> since when.
    """

    alerts: list[AlertMark] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    mutes: list[Mute] = field(default_factory=list)
    invalid: dict[int, dict[str, str]] = field(default_factory=dict)
    can_show: dict[int, float | None] = field(default_factory=dict)
    seen: dict[int, int] = field(default_factory=dict)
    limits: dict[int, Limit] = field(default_factory=dict)
    noisier: dict[int, Noisier] = field(default_factory=dict)
    revisions: list[Revision] = field(default_factory=list)


def read_marks(benchmark: Benchmark, series: Sequence[Series], metric: Metric) -> Marks:
    """Everything said about ``series``, all of one ``metric``, in time order. One query."""
    keys = [row.pk for row in series]
    with connection.cursor() as cursor:
        cursor.execute(_MARKS, {"series": keys, "benchmark": benchmark.pk})
        rows = cursor.fetchall()

    marks = Marks()
    for kind, of, seconds, text, key, unit, direction, number, low, high in rows:
        at = datetime.fromtimestamp(seconds or 0, UTC)
        if kind == "alert":
            change = in_words(metric, number, low, high, unit)
            marks.alerts.append(AlertMark(of, at, int(key), text, direction, change))
        elif kind == "remark":
            marks.remarks.append(Remark(int(key), at, text, by=unit))
        elif kind == "revision":
            marks.revisions.append(Revision(at, text, key))
        elif kind == "mute":
            marks.mutes.append(Mute(of, at, text))
        elif kind == "invalid":
            marks.invalid.setdefault(of, {})[key] = text
        else:
            marks.can_show[of] = number
            marks.seen[of] = int(low or 0)
            if text:
                marks.limits[of] = Limit(**json.loads(text))
            if high is not None:
                marks.noisier[of] = Noisier(at, high)
    return marks


def marked_lines(
    lines: Sequence[ChartLine], series: Sequence[Series], marks: Marks
) -> list[MarkedLine]:
    """Each line with the alerts and invalid points of its series."""
    alerts: dict[int, list[Mark]] = {}
    for alert in marks.alerts:
        change = alert.change.text if alert.change else "status changed"
        mark = Mark(
            at_ms=milliseconds(alert.at),
            text=f"{change}<br>{alert.state.replace('_', ' ')}",
            href=reverse("alert", args=[alert.group]),
            worse=alert.direction != "improvement",
        )
        alerts.setdefault(alert.series, []).append(mark)

    keys = {row.config.name: row.pk for row in series}
    marked = []
    for line in lines:
        key = keys[line.name]
        marked.append(MarkedLine(line, alerts.get(key, []), marks.invalid.get(key, {})))
    return marked


def remarks_on_chart(marks: Marks) -> list[Mark]:
    """The remarks, and where a file changed: at each revision but the first."""
    shown = [Mark(milliseconds(remark.at), remark.text) for remark in marks.remarks]
    for revision in marks.revisions[1:]:
        text = f"revision {revision.number}: file {revision.file_hash[:8]}"
        shown.append(Mark(milliseconds(revision.at), text))
    return sorted(shown, key=attrgetter("at_ms"))
