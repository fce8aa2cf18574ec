"""What badges on other people's pages say."""

from dashboard.language.metrics import Metric
from dashboard.language.wording import quantity
from dashboard.models import Series
from dashboard.ui.badges import Tone


def newest_series(
    benchmark: str, config: str, metric: Metric, *, machine: str, track: str
) -> Series | None:
    """The series of a case that reported last, of the machine and track where named. One query."""
    series = Series.objects.filter(
        benchmark__name=benchmark, config__name=config, metric=metric.key, count__gt=0
    )
    if machine:
        series = series.filter(machine__key=machine)
    if track:
        series = series.filter(track__key=track)
    return series.order_by("-last_at").first()


def badge_text(series: Series | None, metric: Metric) -> tuple[str, Tone]:
    """The newest value, or how the case fails."""
    if series is None:
        return "not measured", "quiet"
    if series.last_status != "pass":
        return series.last_status.replace("_", " "), "bad"
    return quantity(metric, series.last_value, series.last_low, series.last_high), "good"
