"""Evidence that grouping needs of alerts: the suspicion, which of them count, how many series could
alert, the build before.
"""

from collections.abc import Sequence

from dashboard.alerts.core.grouping import Suspicion
from dashboard.language.metrics import METRICS
from dashboard.models import (
    Alert,
    AlertGroup,
    EvidenceState,
    Run,
    Series,
    TorchBuild,
)
from dashboard.results.selectors.history import JUDGED

ALERTING = [metric.key for metric in METRICS.values() if metric.alerts]


def suspicion_of(alert: Alert) -> Suspicion:
    """The alert (with series, benchmark and config) as `dashboard.alerts.core.grouping` sees it."""
    series = alert.series
    words = alert.decision.get("words")
    return Suspicion(
        key=alert.pk,
        model=series.benchmark.model,
        mode=series.benchmark.mode,
        benchmark=series.benchmark.name,
        config=series.config.name,
        metric=series.metric,
        direction=alert.direction,  # type: ignore[arg-type]  # grouping has the same words
        effect=alert.size.effect,
        low=alert.size.low,
        high=alert.size.high,
        unit=alert.size.unit,
        false_alarm_share=alert.false_alarm_share,
        words=(words[0], words[1]) if words else None,
        cause=alert.decision.get("cause", "unknown"),
        levels=_levels(alert),
    )


def _levels(alert: Alert) -> tuple[float, float] | None:
    """The level before, and what its size makes of it: the confirmation may have found another one
    than the detector, whose levels are kept.
    """
    effect, unit = alert.size.effect, alert.size.unit
    if alert.levels is None or effect is None or unit != "percent":
        return None
    before, _ = alert.levels
    return before, before * (1 + effect / 100)


def surest(alerts: Sequence[Alert]) -> list[Alert]:
    """The confirmed ones, of a group's alerts that stand; where none is, those that may yet be;
    else all.
    """
    standing = [alert for alert in alerts if not alert.is_withdrawn]
    confirmed = [alert for alert in standing if alert.confirmation == EvidenceState.CONFIRMED]
    gone = EvidenceState.NOT_REPRODUCED
    return confirmed or [each for each in standing if each.confirmation != gone] or list(alerts)


def alerting_series_count(group: AlertGroup) -> int:
    """Count the series of the group's machine and track that can alert: the tests among which it
    was found.
    """
    return Series.objects.filter(
        machine=group.machine_id, track=group.track_id, metric__in=ALERTING, count__gt=0
    ).count()


def build_before(*, group: AlertGroup, build: TorchBuild) -> TorchBuild | None:
    """The build that the group's track measured on its machine before it first measured `build`."""
    runs = Run.objects.filter(
        machine=group.machine_id,
        track=group.track_id,
        purpose__in=JUDGED,
    )
    first = runs.filter(build=build).order_by("created_at").first()
    if first is None:
        return None
    earlier = runs.filter(created_at__lt=first.created_at).exclude(build=build)
    previous = earlier.order_by("-created_at").select_related("build").first()
    if previous is None:
        return None
    return previous.build
