"""A series' state as JSON-ready values, and back.

The keys are those of detector version 2, whatever the attributes are called today: databases hold
states with them.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from dashboard.detection.constant_level import ConstantLevel
from dashboard.detection.cusum import NO_EVIDENCE, NO_RUNS, CusumTests, Evidence, Runs
from dashboard.detection.drift import NO_LINE, NO_RISE, Line, Rise
from dashboard.detection.noise_model import NoiseModel
from dashboard.detection.points import Settings
from dashboard.detection.segment import Fit, History, Inherited, Learning, Segment, Watching
from dashboard.detection.series_state import SeriesState
from dashboard.detection.value_scale import ValueScale

State = Mapping[str, Any]

CONSTANT_KEYS = {
    "value": "value",
    "at": "points_at",
    "odd": "points_off",
    "run": "run_off",
    "proven": "proven",
    "jumpy": "restless",
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
}
"""Key in the JSON, and attribute."""


def to_json(series: SeriesState) -> dict[str, Any]:
    """The state as JSON-ready values: a few kB, whatever the history's length."""
    history = series.segment.history
    return {
        "settings": asdict(series.settings),
        "seen": series.seen,
        "held": {key: getattr(series.constant, name) for key, name in CONSTANT_KEYS.items()},
        "start": history.start,
        "next_fit": series.segment.next_fit,
        "recent": list(history.values),
        "spreads": list(history.errors) if any(history.errors) else [],
        **_segment_to_json(series.segment),
    }


def _segment_to_json(segment: Segment) -> dict[str, Any]:
    """What a segment knows besides its points. While it is learning, the tests have nothing."""
    if isinstance(segment, Watching):
        fit = segment.fit
        return {
            "ruler": asdict(fit.scale),
            "carried": _model_to_json(fit.inherited),
            "law": _model_to_json(fit.model),
            "usual_width": fit.usual_error,
            **_tests_to_json(segment.line, segment.rise, segment.runs, segment.evidence),
        }
    inherited = segment.inherited
    return {
        "ruler": asdict(inherited.scale) if inherited else None,
        "carried": _model_to_json(inherited.model if inherited else None),
        "law": None,
        "usual_width": 0.0,
        **_tests_to_json(NO_LINE, NO_RISE, NO_RUNS, NO_EVIDENCE),
    }


def _tests_to_json(line: Line, rise: Rise, runs: Runs, evidence: Evidence) -> dict[str, Any]:
    return {
        "line": asdict(line),
        "rise": list(rise),
        "sums": runs.sums[:, 0].tolist(),
        "counts": runs.lengths[:, 0].tolist(),
        "share": evidence.share,
        "count": evidence.length,
    }


def _model_to_json(model: NoiseModel | None) -> dict[str, float] | None:
    if model is None:
        return None
    return {key: getattr(model, name) for key, name in MODEL_KEYS.items()}


def from_json(state: State) -> SeriesState:
    """The state that `to_json` wrote."""
    settings = Settings(**state["settings"])
    constant = {name: state["held"][key] for key, name in CONSTANT_KEYS.items()}
    return SeriesState(
        settings=settings,
        seen=state["seen"],
        constant=ConstantLevel(**constant),
        segment=_segment_from_json(state, settings),
    )


def _segment_from_json(state: State, settings: Settings) -> Segment:
    values = tuple(state["recent"])
    # Where no point has an interval, there are no spreads in the JSON
    errors = tuple(state["spreads"]) or (0.0,) * len(values)
    history = History(state["start"], values, errors)
    scale = ValueScale(**state["ruler"]) if state["ruler"] else None
    inherited, model = _model_from_json(state["carried"]), _model_from_json(state["law"])
    if scale is None:  # a series' first segment, before its first fit
        return Learning(history, state["next_fit"])
    if model is None:
        from_before = None if inherited is None else Inherited(scale, inherited)
        return Learning(history, state["next_fit"], from_before)
    threshold = scale.threshold(settings)
    tests = CusumTests.of(model, threshold)  # they follow from the rest, and are not stored
    return Watching(
        history=history,
        next_fit=state["next_fit"],
        fit=Fit(scale, model, inherited, state["usual_width"], threshold, tests),
        line=Line(**state["line"]),
        rise=Rise(*state["rise"]),
        runs=Runs(np.array([state["sums"]]).T, np.array([state["counts"]]).T),
        evidence=Evidence(state["share"], state["count"]),
    )


def _model_from_json(state: State | None) -> NoiseModel | None:
    if state is None:
        return None
    return NoiseModel(**{name: state[key] for key, name in MODEL_KEYS.items()})
