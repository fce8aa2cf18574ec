"""A message about one confirmed alert, and its way through a transport."""

from datetime import UTC, datetime

from dashboard.alerts.core.alert_charts import Step
from dashboard.notifications.transports import channels, compose, picture
from dashboard.notifications.transports.compose import Entry, SeriesLine
from dashboard.notifications.transports.message import Address
from tests.builders.read_data import line

AT = datetime(2026, 11, 21, 3, tzinfo=UTC)
CHANGED = SeriesLine(
    benchmark="sd_unet.b1",
    config="inductor",
    metric="latency_ms",
    direction="regression",
    effect=6.2,
    low=5.1,
    high=7.4,
    unit="percent",
    text="sd_unet.b1, inductor: latency 6.2% slower (5.1 to 7.4%)",
)
ENTRY = Entry(
    id=7,
    url="https://watch.example/alerts/7/",
    title="sd_unet inference: 6.2% slower in inductor since 2.14",
    kind="step",
    state="confirmed",
    evidence_state="confirmed",
    workflow_state="new",
    direction="regression",
    severity="high",
    cause="compiler",
    cause_in_words="Compiler.",
    evidence=[
        {
            "fact": "code",
            "says": "The kernels <differ>.",
            "supports": "compiler",
        }
    ],
    machine="h200",
    track="nightly",
    base="2.13",
    new="2.14",
    commits="",
    reproduce="python -m benchmarks_suite run",
    series=[CHANGED],
)


def png() -> bytes:
    points = line([10.0] * 20 + [10.6] * 20)
    step = Step(int(points.at_ms[20]), 6.0, 5.0, 7.0, "percent")
    return picture.change_png(points, step, "Latency", "ms")


def send(to: Address, image: bytes | None = None) -> str:
    return channels.send(to, compose.event_message(ENTRY, AT, image), "5")
