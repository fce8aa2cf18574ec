"""A series' state as JSON-ready values, and back.

The keys are those of detector version 2 (with what later ones added), whatever the attributes are
called today: databases hold states with them.
"""

from collections.abc import Mapping
from dataclasses import asdict, astuple
from typing import Any

import numpy as np

from dashboard.detection.constant_level import ConstantLevel
from dashboard.detection.cusum import (
    NO_EVIDENCE,
    NO_RUNS,
    CusumTests,
    Evidence,
    Runs,
)
from dashboard.detection.devices import DeviceLevel, Devices
from dashboard.detection.drift import NO_LINE, NO_RISE, Line, Rise
from dashboard.detection.habits import FEWEST_POINTS
from dashboard.detection.noise_model import NoiseModel
from dashboard.detection.points import Settings
from dashboard.detection.segment import (
    Excursions,
    Fit,
    History,
    Inherited,
    Learning,
    Left,
    Segment,
    Watching,
)
from dashboard.detection.series_state import SeriesState
from dashboard.detection.spread import NO_WIDENING, Widening
from dashboard.detection.usual_noise import UsualNoise
from dashboard.detection.value_scale import ValueScale

State = Mapping[str, Any]

VERSION = 6
"""Number of method and stored state. A change that can alter a decision needs a new one."""

CONSTANT_KEYS = {
    "value": "value",
    "at": "points_at",
    "odd": "points_off",
    "run": "run_off",
    "proven": "proven",
    "jumpy": "restless",
    "varied": "varied",
}
MODEL_KEYS = {
    "level": "level",
    "scale": "scale",
    "rho": "rho",
    "marginal": "deviation",
    "known": "points",
    "own": "level_points",
    "shape": "tails",
    "half": "half_distance",
    "lower": "lower_share",
    "bar": "bar",
    "borrowed": "borrowed",
    "fewest": "fewest",
}
"""Key in the JSON, and attribute."""


def to_json(series: SeriesState) -> dict[str, Any]:
    """The state as JSON-ready values: a few kB, whatever the history's length."""
    return {
        "version": VERSION,
        "settings": asdict(series.settings),
        "seen": series.seen,
        "held": {key: getattr(series.constant, name) for key, name in CONSTANT_KEYS.items()},
        "usual": asdict(series.usual) if series.usual else None,
        "device": series.devices.first,
        "devices": {name: list(level.distances) for name, level in series.devices.levels.items()},
        **_segment_to_json(series.segment),
    }


def _segment_to_json(segment: Segment) -> dict[str, Any]:
    history = segment.history
    return {
        "start": history.start,
        "next_fit": segment.next_fit,
        "recent": list(history.values),
        "spreads": list(history.errors) if any(history.errors) else [],
        "bursts": list(segment.excursions),
        "left": _left_to_json(segment.left),
        **_noise_to_json(segment),
    }


def _left_to_json(left: Left | None) -> dict[str, Any] | None:
    if left is None:
        return None
    return {
        "segment": _segment_to_json(left.segment),
        "index": left.index,
        "level": left.level,
        "total": left.total,
        "length": left.length,
    }


def _noise_to_json(segment: Segment) -> dict[str, Any]:
    """Pack what a segment knows besides its points. While it learns, the tests have nothing."""
    if isinstance(segment, Watching):
        fit = segment.fit
        return {
            "ruler": asdict(fit.scale),
            "carried": _model_to_json(fit.inherited),
            "law": _model_to_json(fit.model),
            "usual_width": fit.usual_error,
            "fewest": fit.tests.fewest,
            **_tests_to_json(segment.line, segment.rise, segment.runs, segment.evidence),
            "wider": list(astuple(segment.widening)),
        }
    inherited = segment.inherited
    return {
        "ruler": asdict(inherited.scale) if inherited else None,
        "carried": _model_to_json(inherited.model if inherited else None),
        "law": None,
        "usual_width": 0.0,
        "fewest": FEWEST_POINTS,
        **_tests_to_json(NO_LINE, NO_RISE, NO_RUNS, NO_EVIDENCE),
        "wider": list(astuple(NO_WIDENING)),
    }


def _tests_to_json(line: Line, rise: Rise, runs: Runs, evidence: Evidence) -> dict[str, Any]:
    return {
        "line": asdict(line),
        "rise": list(rise),
        "sums": runs.sums[:, 0].tolist(),
        "counts": runs.lengths[:, 0].tolist(),
        "share": evidence.share,
        "count": evidence.length,
        "nats": evidence.nats,
    }


def _model_to_json(model: NoiseModel | None) -> dict[str, float] | None:
    if model is None:
        return None
    return {key: getattr(model, name) for key, name in MODEL_KEYS.items()}


def from_json(state: State) -> SeriesState:
    """The state that `to_json` wrote. Raises ValueError where another version of it did: judge the
    series from its first point then.
    """
    if state.get("version") != VERSION:
        raise ValueError(f"the state has version {state.get('version')}, not {VERSION}")
    settings = Settings(**state["settings"])
    devices = {}
    for name, distances in state["devices"].items():
        devices[name] = DeviceLevel(tuple(distances))
    constant = {name: state["held"][key] for key, name in CONSTANT_KEYS.items()}
    return SeriesState(
        settings=settings,
        seen=state["seen"],
        constant=ConstantLevel(**constant),
        segment=_segment_from_json(state, settings),
        usual=UsualNoise(**state["usual"]) if state["usual"] else None,
        devices=Devices(state["device"], devices),
    )


def _segment_from_json(state: State, settings: Settings) -> Segment:
    values = tuple(state["recent"])
    # Where no point has an interval, there are no spreads in the JSON
    errors = tuple(state["spreads"]) or (0.0,) * len(values)
    history = History(state["start"], values, errors)
    scale = ValueScale(**state["ruler"]) if state["ruler"] else None
    inherited, model = _model_from_json(state["carried"]), _model_from_json(state["law"])
    left = _left_from_json(state["left"], settings)
    excursions = Excursions(*state["bursts"])
    if scale is None or model is None:
        from_before = None
        if scale is not None and inherited is not None:
            from_before = Inherited(scale, inherited)
        return Learning(history, state["next_fit"], from_before, left, excursions)
    threshold = scale.threshold(settings)
    # They follow from the rest, and are not stored
    tests = CusumTests.of(model, threshold, state["fewest"])
    return Watching(
        history=history,
        next_fit=state["next_fit"],
        fit=Fit(scale, model, inherited, state["usual_width"], threshold, tests),
        line=Line(**state["line"]),
        rise=Rise(*state["rise"]),
        runs=Runs(np.array([state["sums"]]).T, np.array([state["counts"]]).T),
        evidence=Evidence(state["share"], state["count"], state["nats"]),
        widening=Widening(*state["wider"]),
        left=left,
        excursions=excursions,
    )


def _left_from_json(state: State | None, settings: Settings) -> Left | None:
    if state is None:
        return None
    segment = _segment_from_json(state["segment"], settings)
    if not isinstance(segment, Watching):
        raise ValueError("the state says that a level was left which had no noise model")
    return Left(segment, state["index"], state["level"], state["total"], state["length"])


def _model_from_json(state: State | None) -> NoiseModel | None:
    if state is None:
        return None
    return NoiseModel(**{name: state[key] for key, name in MODEL_KEYS.items()})
