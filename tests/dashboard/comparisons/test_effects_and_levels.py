"""An effect and the two levels that stand beside it are of one estimate: who divides the levels
gets the effect.
"""

import re

import numpy as np
import pytest
from django.test import Client
from hypothesis import example, given
from hypothesis import strategies as st

from dashboard.alerts.core.alert_charts import Process, pairs_figure
from dashboard.alerts.core.confirmation import compare_pairs
from dashboard.alerts.selectors.alert_data import around
from dashboard.alerts.selectors.alerts import summarize
from dashboard.alerts.services import detection
from dashboard.comparisons.core.metric_effects import CaseSamples, judge_all
from dashboard.comparisons.core.ratios import level
from dashboard.detection import ChangePoint, OnlineDetector, Settings, find_change_points
from dashboard.language.metrics import METRICS
from dashboard.language.wording import effect, levels
from dashboard.models import Alert
from tests.builders import alerting
from tests.perf import noise

LATENCY, DRIFT, BREAKS = METRICS["latency_ms"], METRICS["drift"], METRICS["graph_breaks"]
TOLD = re.compile(r"(?P<percent>[\d.,]+) %.*from (?P<before>.+?) to (?P<after>.+?)\s*(ms|$)")


def drawn(kind: str, seed: int, step: float) -> list[float]:
    """80 points around 100, then 20 around a level that is `step` percent higher."""
    values = noise.LEVEL + noise.KINDS[kind](np.random.default_rng(seed), (1, 100))[0]
    return [*values[:80].tolist(), *(values[80:] * (1 + step / 100)).tolist()]


def changes(values: list[float], settings: Settings) -> list[ChangePoint]:
    return find_change_points(noise.points(np.array(values)), settings)


def part(values: list[float]) -> CaseSamples:
    return CaseSamples(
        1, (), level(values), len(values), min(values), max(values), float(np.mean(values))
    )


def read(number: str) -> float:
    """A shown number, "1.244×10⁻⁷" among them."""
    mantissa, _, exponent = number.partition("×10")
    power = int(exponent.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")) or 0)
    return float(mantissa.replace("\u2009", "").replace(",", "")) * 10.0**power


def agrees(sentence: str) -> bool:
    """Whether the quotient of the told levels is the told percentage, as far as both are
    rounded.
    """
    shown = TOLD.search(sentence)
    assert shown, sentence
    percent, ratio = read(shown["percent"]), read(shown["after"]) / read(shown["before"])
    # Of the percentage, and of four digits in each level
    rounding = (0.5 if percent >= 100 else 0.05) + 0.1 * ratio
    return abs(abs(100 * (ratio - 1)) - percent) <= rounding


@pytest.mark.parametrize("kind", noise.KINDS)
@pytest.mark.parametrize("step", [-30.0, 15.0, 300.0])
def test_the_detectors_effect_is_what_its_levels_say(kind: str, step: float) -> None:
    found = [one for seed in range(3) for one in changes(drawn(kind, seed, step), Settings())]
    assert len(found) >= 3
    for one in found:
        assert one.effect == pytest.approx(100 * (one.level_after / one.level_before - 1))


def test_the_online_verdict_brings_the_levels_of_its_effect_too() -> None:
    detector = OnlineDetector(Settings())
    verdicts = [
        detector.update(point) for point in noise.points(np.array(drawn("two modes", 1, 20.0)))
    ]
    for one in (verdict for verdict in verdicts if verdict.state == "changed"):
        assert one.effect == pytest.approx(100 * (one.level_after / one.level_before - 1))  # type: ignore[operator]
    assert any(one.state == "changed" for one in verdicts)


def test_the_levels_of_counts_lie_as_far_apart_as_is_told() -> None:
    values = np.random.default_rng(3).poisson([*[4.0] * 60, *[30.0] * 20]).astype(float).tolist()
    for one in (found := changes(values, Settings(kind="count"))):
        assert one.effect == pytest.approx(one.level_after - one.level_before)
    assert found


def test_a_value_that_was_held_is_the_level_before() -> None:
    (one,) = changes([4.0] * 20 + [5.0] * 3, Settings(kind="constant"))
    assert (one.effect, one.level_before, one.level_after) == (25.0, 4.0, 5.0)


@given(st.floats(1e-9, 1e7), st.floats(0.2, 8.0))
@example(1.0, 1.0)
def test_what_is_shown_agrees_to_rounding(before: float, factor: float) -> None:
    change = effect(LATENCY, 100 * (factor - 1), None, None, "percent")
    assert change
    assert agrees(f"{change.text}, {levels(LATENCY, before, before * factor)}")


def test_levels_have_their_unit_once_and_counts_no_digits_that_do_not_count() -> None:
    assert levels(LATENCY, 0.062684, 0.244612) == "from 0.06268 to 0.2446 ms"
    assert levels(DRIFT, 5.0815e-8, 1.24408e-7) == "from 5.082×10⁻⁸ to 1.244×10⁻⁷"
    assert (levels(BREAKS, 0.0, 2.0), levels(BREAKS, 1.6, 3.4)) == (
        "from 0 to 2",
        "from 1.6 to 3.4",
    )


@pytest.mark.django_db
def test_page_messages_and_chart_of_an_alert_tell_the_levels_of_its_effect(reader: Client) -> None:
    rng = np.random.default_rng(0)
    # Its median is no level of it
    restless = rng.choice([0.043, 0.05, 0.07, 0.088], 24) * rng.normal(1, 0.04, 24)
    alerting.measured([*restless.tolist(), *alerting.noise(8, 0.245, seed=1)])
    detection.detect_due()
    alert = Alert.objects.get()
    assert agrees(summarize(alert).sentence)
    shown = re.sub(r"<[^>]+>", "", reader.get(alert.group.get_absolute_url()).content.decode())
    assert agrees(shown[shown.index("Latency:") :].partition("ms")[0])
    assert alert.levels
    assert around(alert).step.level_before == alert.levels[0]


def test_the_sides_of_a_comparison_are_those_of_its_effect() -> None:
    rng = np.random.default_rng(4)
    for metric in (LATENCY, BREAKS):
        drawn_parts = [part((rng.poisson(7, 3) + 1.0).tolist()) for _ in range(10)]
        pairs = list(zip(drawn_parts[::2], drawn_parts[1::2], strict=True))
        for one in judge_all(pairs, metric):
            base, new = one.levels
            assert one.ratio is None or one.ratio.percent == pytest.approx(100 * (new / base - 1))
            assert one.ratio is not None or one.difference == pytest.approx(new - base)


def test_the_lines_of_a_confirmation_lie_as_far_apart_as_it_tells() -> None:
    pairs = [(0.0431, 0.244), (0.088, 0.251), (0.0435, 0.239), (0.051, 0.246)]
    arms = [
        (arm, value) for pair in pairs for arm, value in zip(("base", "new"), pair, strict=True)
    ]
    processes = [Process(place, arm, arm, value, "j") for place, (arm, value) in enumerate(arms, 1)]
    _, new, *_ = pairs_figure(processes, LATENCY)["data"]
    assert new["y"][0] == pytest.approx(compare_pairs(pairs, 300.0, Settings()).effect)
