"""An effect and the two levels that stand next to it are of one estimate: who divides the levels
gets the effect.
"""

import re
from statistics import geometric_mean

import numpy as np
import pytest
from django.test import Client
from hypothesis import example, given
from hypothesis import strategies as st

from dashboard.alerts.core.confirmation import compare_pairs
from dashboard.alerts.selectors.alerts import summarize
from dashboard.alerts.services import detection
from dashboard.changes.core.marks import marks
from dashboard.detection import Settings, Verdict
from dashboard.language.metrics import METRICS
from dashboard.language.wording import effect, levels
from dashboard.models import Alert
from tests.builders import alerting
from tests.builders.detection import changes, points
from tests.builders.reading import page_text
from tests.lab import noise

LATENCY, DRIFT, BREAKS = METRICS["latency_ms"], METRICS["drift"], METRICS["graph_breaks"]
SHOWN = re.compile(r"(?P<percent>[\d.,]+)%.*from (?P<before>.+?) to (?P<after>.+?)\s*(ms|$)")


def drawn(kind: str, seed: int, step: float) -> list[float]:
    """80 points around 100, then 20 around a level that is `step` percent higher."""
    values = noise.LEVEL + noise.KINDS[kind](np.random.default_rng(seed), (1, 100))[0]
    return [*values[:80].tolist(), *(values[80:] * (1 + step / 100)).tolist()]


def read(number: str) -> float:
    """A shown number, "1.244×10⁻⁷" among them."""
    mantissa, _, exponent = number.partition("×10")
    power = int(exponent.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")) or 0)
    return float(mantissa.replace(",", "")) * 10.0**power


def agrees(sentence: str) -> bool:
    """Test whether the quotient of the levels is the percentage, as far as both are rounded."""
    shown = SHOWN.search(sentence)
    assert shown, sentence
    percent, ratio = read(shown["percent"]), read(shown["after"]) / read(shown["before"])
    # Of the percentage, and of four digits in each level
    rounding = (0.5 if percent >= 100 else 0.05) + 0.1 * ratio
    return abs(abs(100 * (ratio - 1)) - percent) <= rounding


@pytest.mark.parametrize("kind", noise.KINDS)
@pytest.mark.parametrize("step", [-30.0, 15.0, 300.0])
def test_effect_of_the_detector_is_what_its_levels_say(kind: str, step: float) -> None:
    reported: list[Verdict] = []
    for seed in range(3):
        reported += changes(points(drawn(kind, seed, step)))
    assert len(reported) >= 3
    for change in reported:
        ratio = change.level_after / change.level_before
        assert change.effect == pytest.approx(100 * (ratio - 1))


def test_levels_of_counts_lie_as_far_apart_as_their_effect() -> None:
    values = np.random.default_rng(3).poisson([*[4.0] * 60, *[30.0] * 20]).astype(float).tolist()
    reported = changes(points(values), Settings(kind="count"))
    assert reported
    for change in reported:
        assert change.effect == pytest.approx(change.level_after - change.level_before)


def test_constant_value_is_the_level_before() -> None:
    (change,) = changes(points([4.0] * 20 + [5.0] * 3), Settings(kind="constant"))
    assert change.effect == 25.0
    assert change.level_before == 4.0
    assert change.level_after == 5.0


@given(st.floats(1e-9, 1e7), st.floats(0.2, 8.0))
@example(1.0, 1.0)
def test_shown_effect_and_levels_agree_to_rounding(before: float, factor: float) -> None:
    change = effect(LATENCY, 100 * (factor - 1), None, None, "percent")
    assert change
    assert agrees(f"{change.text}, {levels(LATENCY, before, before * factor)}")


def test_levels_have_their_unit_once_and_counts_no_needless_digits() -> None:
    assert levels(LATENCY, 0.062684, 0.244612) == "from 0.06268 to 0.2446 ms"
    assert levels(DRIFT, 5.0815e-8, 1.24408e-7) == "from 5.082×10⁻⁸ to 1.244×10⁻⁷"
    assert levels(BREAKS, 0.0, 2.0) == "from 0 to 2"
    assert levels(BREAKS, 1.6, 3.4) == "from 1.6 to 3.4"


@pytest.mark.django_db
def test_page_and_messages_of_an_alert_show_the_levels_of_its_effect(reader: Client) -> None:
    rng = np.random.default_rng(0)
    # Its median is no level of it
    restless = rng.choice([0.043, 0.05, 0.07, 0.088], 24) * rng.normal(1, 0.04, 24)
    alerting.measured([*restless.tolist(), *alerting.noise(8, 0.245, seed=1)])
    detection.detect_due()
    alert = Alert.objects.get()
    assert agrees(summarize(alert).sentence)
    page = page_text(reader.get(alert.group.get_absolute_url()))
    shown = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    assert agrees(shown[shown.index("Worse, likely") :].partition(" ms")[0])


def test_marks_of_a_confirmation_lie_as_far_apart_as_its_effect() -> None:
    pairs = [
        (0.0431, 0.244),
        (0.088, 0.251),
        (0.0435, 0.239),
        (0.051, 0.246),
    ]
    drawn = marks(pairs, [])
    assert drawn is not None
    percents = [pair.percent or 0.0 for pair in drawn.pairs]
    mean = 100 * (geometric_mean(1 + percent / 100 for percent in percents) - 1)
    assert mean == pytest.approx(compare_pairs(pairs, 300.0, Settings()).effect)
