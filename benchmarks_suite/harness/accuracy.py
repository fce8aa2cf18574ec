"""Drift and accuracy by our own fixed definition, the same in every torch release.

Reference: the same weights and inputs in float64, in eager, on the same device; what a model casts
to a narrower type by hand is kept at float64 too. Each arm gets the same restored state, dropout 0,
and the matmul precision of the timing.

Distance of a tensor x from the reference r: relative L2 = |x - r| / |r|; next to it the largest
error in units of the largest |r|, and 1 - cosine. Compared are the output of one forward pass, all
of it and its worst row; in training the gradients of the first step (over all parameters together,
and for the worst single one), how far that step moved the parameters, the buffers that it changed,
and the loss after k steps.

Rule: an arm passes where its relative L2 is at most 3 times eager's own (what the dtype alone
costs), or at most a floor of the dtype (eager can be closer to float64 by luck, and is, where it is
one exact operation). A config that multiplies in float8 may be as much further as float8 is
coarser. These numbers were chosen so that another order of summation, or one rounding to the
benchmark's own dtype more, passes, and a dropped term, a stale input, or a rounding to a narrower
dtype than is meant fails: tests/suite/test_harness_accuracy.py compiles such wrong functions.

A multiple of eager's distance has a ceiling: something that is missing is 1 away. Where eager
itself is that far off (ResNet's gradients at fresh weights), an arm may be half as far again, and
where that is 1 or more, the tensor is marked as one that the rule cannot judge.

Exactly compared are the output's shape and dtype, which parameters have a gradient and move at all,
which buffers change, and counters among them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from benchmarks_suite.harness.distances import (
    distance_of_all,
    distance_of_each,
    distances,
    negligible,
    relative_l2,
)
from benchmarks_suite.harness.observing import Observed

# A single parameter's gradient, or row, is a short sum, and so noisier than all of them together
WORST_FLOOR = 10
WORST_AT_MOST = 0.5  # one that is missing is 1 away
# A multiple of eager's distance ends here, or where eager is as far by itself, at ABOVE_CEILING x
CEILING, ABOVE_CEILING = 0.5, 1.5
# Adam's first step is the gradient's sign: where a gradient is all rounding error, it is a coin's.
# No step at all is 1 away
MOVE_FLOOR = 0.7
# A parameter that does not move, where these many of its elements should
MOVING_ELEMENTS, MOVING_SHARE = 8, 0.1
RULE = (
    "relative L2 to float64 at most 3 x eager's own (up to 0.5), or at most the dtype's floor "
    "(float32 4e-6, float16 1e-3, bfloat16 8e-3; loss 1e-4, 1e-2, 3e-2; one parameter's gradient, "
    "one row, one buffer 10 x that, at most 0.5; the optimizer's step 0.7); of a config in float8 "
    "0.125, loss 0.1, or eager's own times eps of float8 / eps of its dtype"
)


@dataclass(frozen=True)
class Tolerance:
    """How far an arm may be from the reference, as relative L2.

    floor: it may always be as far as this.
    loss: the same for the loss; k optimizer steps amplify rounding.
    ratio: it may be as far as this many times eager's own distance.
    """

    floor: float
    loss: float
    ratio: float = 3.0

    def allows(self, eager_drift: float | None, floor: float) -> float:
        """The largest distance that passes."""
        of_eager = eager_drift or 0.0
        ceiling = max(CEILING, ABOVE_CEILING * of_eager)
        return max(min(self.ratio * of_eager, ceiling), floor)

    @property
    def worst_floor(self) -> float:
        """The floor of a part: one parameter, one row, one buffer."""
        return min(WORST_FLOOR * self.floor, WORST_AT_MOST)


_TOLERANCES = {  # floor: 32 eps of float32, 1 eps of the half types
    torch.float32: Tolerance(4e-6, 1e-4),
    torch.float16: Tolerance(1e-3, 1e-2),
    torch.bfloat16: Tolerance(8e-3, 3e-2),
}
_FLOAT8_EPS = 0.125  # of e4m3, in which torchao multiplies


def tolerance(dtype: torch.dtype, in_float8: bool = False) -> Tolerance:
    """The rule for a benchmark of ``dtype``.

    in_float8: under a config that multiplies in float8, unlike eager.
    """
    if in_float8:
        return Tolerance(_FLOAT8_EPS, 0.1, _FLOAT8_EPS / torch.finfo(dtype).eps)
    return _TOLERANCES[dtype]


@dataclass(frozen=True)
class AccuracyVerdict:
    """Drift of one arm under the rule.

    tensors: outputs, gradients, loss, … -> their distances.
    failures: what broke the rule.
    unjudged: what only eager's own distance could decide, which is not known.
    """

    tensors: dict[str, dict[str, Any]]
    failures: list[str]
    unjudged: list[str] = field(default_factory=list)


def assess(
    observed: Observed, eager: Observed | None, reference: Observed, tolerance: Tolerance
) -> AccuracyVerdict:
    """Compares ``observed`` with the reference; ``eager`` None: it could not be run."""
    assessment = _Assessment(observed, eager, reference, tolerance)
    assessment.outputs()
    if reference.gradients:
        assessment.gradients()
    assessment.moves()
    assessment.buffers()
    if reference.losses:
        assessment.loss()
    return assessment.verdict


def two_runs_differ(first: Observed, second: Observed, dtype: torch.dtype) -> str:
    """How far two runs of the same arm are apart; empty where that is within the dtype's floor."""
    verdict = assess(second, None, first, tolerance(dtype))
    return "; ".join(verdict.failures + verdict.unjudged)


class _Assessment:
    """One arm next to eager and the reference; each method adds to the verdict."""

    def __init__(
        self, observed: Observed, eager: Observed | None, reference: Observed, tolerance: Tolerance
    ) -> None:
        self._observed, self._reference = observed, reference
        self._eager, self._tolerance = eager, tolerance
        self.verdict = AccuracyVerdict({}, [])

    def _compare(
        self, name: str, drift: float, eager_drift: float | None, floor: float, **details: Any
    ) -> None:
        allowed = self._tolerance.allows(eager_drift, floor)
        distances = {"relative_l2": drift, "eager_relative_l2": eager_drift, **details}
        if allowed >= 1:
            distances["judged"] = False  # what is missing would pass
        self.verdict.tensors[name] = distances
        if drift <= allowed:
            return
        if eager_drift is None and drift < 1:  # what is missing is 1 away
            self._leave(f"{name}: {drift:.2g}, always allowed {allowed:.2g}")
            return
        eager_text = "not measured" if eager_drift is None else f"{eager_drift:.2g}"
        self._fail(f"{name}: {drift:.2g}, eager {eager_text}, allowed {allowed:.2g}")

    def _fail(self, failure: str) -> None:
        self.verdict.failures.append(failure)

    def _leave(self, unjudged: str) -> None:
        self.verdict.unjudged.append(f"{unjudged}, and eager could not be run")

    def outputs(self) -> None:
        output, expected = self._observed.output, self._reference.output
        if output is None or expected is None:
            return
        eagers = self._eager.output if self._eager else None
        if output.shape != expected.shape:
            self._fail(f"outputs: shape {tuple(output.shape)}, not {tuple(expected.shape)}")
        if eagers is not None and output.dtype != eagers.dtype:
            self._fail(f"outputs: {output.dtype}, not {eagers.dtype}")
        details = distances(output, expected)
        of_eager: dict[str, Any] = {}
        if eagers is not None:
            of_eager = distances(eagers, expected)
        worst, drift = details.pop("worst_row"), details.pop("relative_l2")
        eager_drift, eager_worst = of_eager.get("relative_l2"), of_eager.get("worst_row")
        self._compare("outputs", drift, eager_drift, self._tolerance.floor, **details)
        if expected.dim() > 1:
            self._compare("worst_row", worst, eager_worst, self._tolerance.worst_floor)

    def gradients(self) -> None:
        observed, reference = self._observed.gradients, self._reference.gradients
        of_eager = self._eager.gradients if self._eager else None
        drift = distance_of_all(observed, reference)
        eager_drift = None if of_eager is None else distance_of_all(of_eager, reference)
        self._compare("gradients", drift, eager_drift, self._tolerance.floor)
        self._worst("worst_gradient", "parameter", observed, of_eager, reference)
        for name in sorted(observed.keys() - reference.keys()):
            if bool(observed[name].any()):
                self._fail(f"gradients: {name} has one, and should have none")

    def _worst(
        self,
        name: str,
        part: str,
        observed: Mapping[str, Tensor],
        of_eager: Mapping[str, Tensor] | None,
        reference: Mapping[str, Tensor],
    ) -> None:
        """Compares the tensor that is furthest from what the rule allows it."""
        drifts, eager_drifts = distance_of_each(observed, reference), dict[str, float]()
        if of_eager is not None:
            eager_drifts = distance_of_each(of_eager, reference)
        floor = self._tolerance.worst_floor

        def excess(key: str) -> float:
            return drifts[key] - self._tolerance.allows(eager_drifts.get(key), floor)

        worst = max(drifts, key=excess)
        self._compare(name, drifts[worst], eager_drifts.get(worst), floor, **{part: worst})

    def moves(self) -> None:
        """The optimizer's first step."""
        observed = self._observed.moves
        of_eager = self._eager.moves if self._eager else None
        # What an arm holds quantized it does not show
        reference: dict[str, Tensor] = {}
        for name, moved in self._reference.moves.items():
            if name in observed and (of_eager is None or name in of_eager):
                reference[name] = moved
        if not reference:
            return
        drift = distance_of_all(observed, reference)
        eager_drift = None if of_eager is None else distance_of_all(of_eager, reference)
        self._compare("optimizer_step", drift, eager_drift, MOVE_FLOOR)
        # What rounding makes of no gradient may or may not move a parameter
        unclear, still = negligible(self._reference.gradients), list[str]()
        for name, expected in reference.items():
            if name in unclear or bool(observed[name].any()) or not _moves(expected):
                continue
            if of_eager is None:
                still.append(name)
            elif _moves(of_eager[name]):
                self._fail(f"optimizer_step: {name} does not move")
        if still:
            others = f" nor do {len(still) - 1} others" if len(still) > 1 else ""
            self._leave(f"optimizer_step: {still[0][:100]} does not move{others}")

    def buffers(self) -> None:
        """What the first step left in the buffers that it changed: running means, counters."""
        observed, reference = self._observed.buffers, self._reference.buffers
        of_eager = self._eager.buffers if self._eager else None
        for name in sorted(observed.keys() - reference.keys() - (of_eager or {}).keys()):
            self._fail(f"buffers: {name} changes, and should not")
        floating = {name: value for name, value in reference.items() if value.is_floating_point()}
        for name in reference.keys() - floating.keys():
            value = observed.get(name)
            if value is None or not torch.equal(value, reference[name]):
                self._fail(f"buffers: {name} is not what it should be")
        if floating:
            self._worst("buffers", "buffer", observed, of_eager, floating)

    def loss(self) -> None:
        """The last loss."""
        drift = _loss_distance(self._observed, self._reference)
        eager_drift = _loss_distance(self._eager, self._reference) if self._eager else None
        steps = len(self._reference.losses)
        self._compare("loss", drift, eager_drift, self._tolerance.loss, steps=steps)


def _moves(moved: Tensor) -> bool:
    """Whether so much of a parameter moves that none of it cannot be rounding."""
    elements = int(moved.count_nonzero())
    return elements >= max(MOVING_ELEMENTS, MOVING_SHARE * moved.numel())


def _loss_distance(observed: Observed, reference: Observed) -> float:
    """Relative distance of the last loss."""
    loss, expected = observed.losses[-1], reference.losses[-1]
    if not math.isfinite(loss):
        return math.inf
    return abs(loss - expected) / (abs(expected) or 1.0)


def why_incomparable(eager: Observed | None, reference: Observed) -> str:
    """Why nothing can be compared with what eager computed; empty where something can."""
    if eager is None or eager.output is None or reference.output is None:
        return ""
    if math.isfinite(relative_l2(eager.output, reference.output)):
        return ""
    return (
        "the output is infinite in eager where it is not in the reference: nothing can be "
        "compared with it"
    )


def matmul_precision() -> str:
    """The precision of float32 matmuls in every arm; the variant may set another than torch's."""
    return str(torch.get_float32_matmul_precision())
