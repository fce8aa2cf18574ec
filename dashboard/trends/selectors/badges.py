"""Text of badges on other people's pages."""

from dashboard.catalog.core.versions import short_label
from dashboard.language.metrics import Metric
from dashboard.language.wording import quantity
from dashboard.models import Series
from dashboard.ui.badges import Tone


def newest_series(
    benchmark: str, config: str, metric: Metric, *, machine: str, track: str
) -> Series | None:
    """The series of a case at the machine and track where named, of several the one that reported
    last. One query.
    """
    series = Series.objects.filter(
        benchmark__name=benchmark, config__name=config, metric=metric.key, count__gt=0
    )
    if machine:
        series = series.filter(machine__key=machine)
    if track:
        series = series.filter(track__key=track)
    return series.select_related("newest_build").order_by("-last_at").first()


def badge_text(series: Series | None, metric: Metric) -> tuple[str, Tone]:
    """The newest value, or how the case fails, and the build that it is of."""
    if series is None or series.newest_build is None:
        return "not measured", "quiet"
    build = short_label(series.newest_build.label)
    if series.newest_status != "pass":
        return f"{series.newest_status.replace('_', ' ')} on {build}", "bad"
    value = quantity(metric, series.newest_value, series.newest_low, series.newest_high)
    return f"{value} on {build}", "good"
