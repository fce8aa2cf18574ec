"""A case that passes and fails by turns raises one alert, as inconclusive; it ends by itself."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from dashboard.alerts.core import flakiness
from dashboard.alerts.services import detection, triage
from dashboard.models import Alert, AlertGroup, AlertState
from dashboard.results.core.series_points import SeriesPoint
from tests.builders.alerting import FIRST, measure

pytestmark = pytest.mark.django_db
TO_AND_FRO = "PPPFPFPFFPFPPF"


def history(words: str, first: int = 0) -> None:
    """One point an hour on one build, each judged as it comes: P passes, F fails."""
    for hour, word in enumerate(words, first):
        measure({"latency_ms": 100.0}, hour, status="pass" if word == "P" else "fail_accuracy")
        detection.detect_due()


def flaky() -> AlertGroup:
    return Alert.objects.get(decision__flaky=True).group


def states() -> list[str]:
    return [group.state for group in AlertGroup.objects.order_by("pk")]


def readings(words: str, *, one_build: bool = True) -> list[SeriesPoint]:
    points = []
    for hour, word in enumerate(words):
        point = SeriesPoint(
            at=FIRST + timedelta(hours=hour),
            job=str(hour),
            build=1 if one_build else hour,
            environment=None,
            version=1,
            status="pass" if word == "P" else "crashed",
            value=None,
            low=None,
            high=None,
        )
        points.append(point)
    return points


# --- What is flaky


@pytest.mark.parametrize(
    ("words", "one_build", "expected"),
    [
        ("PPPFFFF", True, False),
        ("PPPFFPP", True, False),
        ("PPPFPF", True, True),
        ("PPPFPF", False, False),  # fixed and broken again by builds
        ("PFPFPFP", False, True),
        ("PFPF" + "P" * 20, True, False),  # long ago
    ],
)
def test_a_case_is_flaky_when_its_status_went_to_and_fro(
    words: str, one_build: bool, expected: bool
) -> None:
    assert flakiness.is_flaky(readings(words, one_build=one_build)) is expected


# --- What is raised


def test_flaky_case_raises_one_alert_and_not_one_each_turn() -> None:
    history(TO_AND_FRO)
    assert states() == ["recovered", "inconclusive"]
    assert flaky().title.startswith("mlp inference: flaky (was passed) in inductor")


def test_flaky_alert_says_how_often_the_case_failed() -> None:
    history("PPPFPF")
    event = flaky().events.get(action="state")
    assert event.text == "Flaky: it passes and fails by turns; 2 of the last 6 points failed."


def test_flaky_case_marked_wontfix_raises_no_other_alert() -> None:
    history("PPPFPF")
    triage.move(
        group=flaky(),
        to=AlertState.WONTFIX,
        by=User.objects.create_user("ada"),
    )
    history("PFPF", first=6)
    assert states() == ["recovered", "wontfix"]


def test_a_flaky_case_that_passes_for_long_has_recovered() -> None:
    history("PPPFPF" + "P" * flakiness.SETTLED)
    assert states() == ["recovered", "recovered"]


def test_failure_long_after_flakiness_is_suspected() -> None:
    history("PPPFPF" + "P" * 20 + "F")
    assert states() == ["recovered", "recovered", "suspected"]


def test_a_flaky_case_that_fails_for_long_is_suspected_again() -> None:
    history("PPPFPF" + "F" * flakiness.SETTLED)
    group = AlertGroup.objects.latest("pk")
    assert group.state == "suspected"
    assert group.title.startswith("mlp inference: accuracy failed (was passed) in inductor")


def test_flaky_series_that_is_read_again_raises_nothing_new() -> None:
    history(TO_AND_FRO)
    measure({"latency_ms": 100.0}, 0.5)
    detection.detect_due()
    assert states() == ["recovered", "inconclusive"]
