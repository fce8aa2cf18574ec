"""Drift and accuracy by our own fixed definition, the same in every torch release.

Reference: the same weights and inputs in float64, in eager, on the same device; what a model casts
to a narrower type by hand is kept at float64 too. Each arm gets the same restored state, dropout 0,
and the matmul precision of the timing.

Distance of a tensor x from the reference r: relative L2 = |x - r| / |r|; next to it the largest
error in units of the largest |r|, and 1 - cosine. Compared are the output of one forward pass, all
of it and its worst row; in training the gradients of the first step (over all parameters together,
and for the worst single one), how far that step moved the parameters, the buffers that it changed,
and the loss after k steps. Every tensor of a nested output is compared, complex ones as real and
imaginary parts; the drift is that of the first one of floats, "outputs".

Integers and booleans have no distance: compared is the share of them that differs from the
reference. Rounding decides ties there, and by cancellation how far a small second output is off.
So where such a tensor is wrong, eager's own distance is held to be the largest of its own and those
of float64 runs whose weights and inputs were moved by one eps of the dtype.

Rule: an arm passes where its relative L2 is at most 3 times eager's own (what the dtype alone
costs), or at most a floor of the dtype (eager can be closer to float64 by luck, and is, where it is
one exact operation). A config that multiplies in float8 may be as much further as float8 is
coarser. These numbers were chosen so that another order of summation, or one rounding to the
benchmark's own dtype more, passes, and a dropped term, a stale input, or a rounding to a narrower
dtype than is meant fails: tests/suite/test_harness_accuracy.py compiles such wrong functions.

A multiple of eager's distance has a ceiling: something that is missing is 1 away. Where eager
itself is that far off (ResNet's gradients at fresh weights), an arm may be half as far again, and
where that is 1 or more, the tensor is marked as one that the rule cannot judge. Infinite numbers,
and what is not a number, are right at the same places; a tensor without any finite number, or in
which eager has others than the reference, cannot be judged.

Exactly compared are the outputs' shapes and dtypes, which parameters have a gradient and move at
all, which buffers change, and counters among them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from benchmarks_suite.harness.distances import (
    as_reals,
    distance_of_all,
    distance_of_each,
    distances,
    is_continuous,
    is_finite,
    negligible,
    share_unequal,
)
from benchmarks_suite.harness.observing import Observed
from benchmarks_suite.harness.tolerances import Tolerance, tolerance

# Adam's first step is the gradient's sign: where a gradient is all rounding error, it is a coin's.
# No step at all is 1 away
MOVE_FLOOR = 0.7
# A parameter that does not move, where these many of its elements should
MOVING_ELEMENTS, MOVING_SHARE = 8, 0.1


@dataclass(frozen=True)
class AccuracyVerdict:
    """Drift of one arm under the rule.

    tensors: outputs, gradients, loss, … -> their distances.
    failures: what broke the rule.
    unjudged: what could not be decided, and why.
    outputs: name -> whether it is right; without those that are unjudged.
    strides: outputs that lie in memory otherwise than eager's, which is no failure.
    """

    tensors: dict[str, dict[str, Any]]
    failures: list[str]
    unjudged: list[str] = field(default_factory=list)
    outputs: dict[str, bool] = field(default_factory=dict)
    strides: list[str] = field(default_factory=list)

    @property
    def may_be_rounding(self) -> bool:
        """True where an output is wrong other than the first one of floats."""
        wrong = {name for name, is_right in self.outputs.items() if not is_right}
        if "relative_l2" in self.tensors.get("outputs", {}):
            wrong.discard("outputs")
        return bool(wrong)


def assess(
    observed: Observed,
    eager: Observed | None,
    reference: Observed,
    tolerance: Tolerance,
    moved: Sequence[Observed] = (),
) -> AccuracyVerdict:
    """Compares ``observed`` with the reference; ``eager`` None: it could not be run.

    moved: references whose weights and inputs were moved by rounding.
    """
    assessment = _Assessment(observed, eager, reference, tolerance)
    assessment.outputs(moved)
    if not all(map(_is_trained, [reference, eager or reference])):
        assessment.leave("the step: its loss or a gradient is not finite in eager")
        return assessment.verdict
    if reference.gradients:
        assessment.gradients()
    assessment.moves()
    assessment.buffers()
    if reference.losses:
        assessment.loss()
    return assessment.verdict


def _is_trained(observed: Observed) -> bool:
    """Test whether the step's loss and gradients are finite; true without a step."""
    return all(map(is_finite, observed.gradients.values())) and all(
        map(math.isfinite, observed.losses)
    )


def two_runs_differ(first: Observed, second: Observed, dtype: torch.dtype) -> str:
    """Describe how far apart two runs of the same arm are; empty within the dtype's floor."""
    return "; ".join(assess(second, first, first, tolerance(dtype)).failures)


class _Assessment:
    """One arm next to eager and the reference; each method adds to the verdict."""

    def __init__(
        self, observed: Observed, eager: Observed | None, reference: Observed, tolerance: Tolerance
    ) -> None:
        self._observed, self._reference = observed, reference
        self._eager, self._tolerance = eager, tolerance
        self.verdict = AccuracyVerdict({}, [])

    def _compare(
        self,
        name: str,
        drift: float,
        eager_drift: float | None,
        floor: float,
        measure: str = "relative_l2",
        **details: Any,
    ) -> None:
        allowed = self._tolerance.allows(eager_drift, floor)
        distances = {measure: drift, f"eager_{measure}": eager_drift, **details}
        if allowed >= 1:
            distances["judged"] = False  # what is missing would pass
        self.verdict.tensors[name] = distances
        if drift <= allowed:
            return
        if eager_drift is None and drift < 1:  # what is missing is 1 away
            self.leave(
                f"{name}: {drift:.2g}, always allowed {allowed:.2g}, and eager could not be run"
            )
            return
        eager_text = "not measured" if eager_drift is None else f"{eager_drift:.2g}"
        self._fail(f"{name}: {drift:.2g}, eager {eager_text}, allowed {allowed:.2g}")

    def _fail(self, failure: str) -> None:
        self.verdict.failures.append(failure)

    def leave(self, unjudged: str) -> None:
        self.verdict.unjudged.append(unjudged)

    def outputs(self, moved: Sequence[Observed]) -> None:
        """Each tensor of the output; ``outputs`` of the verdict has which of them are right."""
        observed, reference = self._observed.outputs, self._reference.outputs
        if not observed or not reference:
            return
        of_eager = self._eager.outputs if self._eager else {}
        if not any(tensor.numel() for tensor in reference.values()):
            self.leave("outputs: the module returned no numbers")
            return
        for name in [*reference, *sorted(observed.keys() - reference.keys())]:
            failed, left = len(self.verdict.failures), len(self.verdict.unjudged)
            if name not in observed or name not in reference:
                what = "is missing" if name in reference else "should not be there"
                self._fail(f"{name}: {what}")
            else:
                variants = [each.outputs[name] for each in moved]
                self._output(name, observed[name], of_eager.get(name), reference[name], variants)
            if len(self.verdict.failures) > failed or len(self.verdict.unjudged) == left:
                self.verdict.outputs[name] = len(self.verdict.failures) == failed

    def _output(
        self,
        name: str,
        output: Tensor,
        eager: Tensor | None,
        expected: Tensor,
        moved: Sequence[Tensor],
    ) -> None:
        """moved: of the references whose weights and inputs were moved."""
        others = [*moved] if eager is None else [eager, *moved]
        if any(other.shape != expected.shape for other in others):
            self.leave(f"{name}: rounding decides its shape")
            return
        if output.shape != expected.shape:
            self._fail(f"{name}: shape {tuple(output.shape)}, not {tuple(expected.shape)}")
        if eager is not None and output.dtype != eager.dtype:
            self._fail(f"{name}: {output.dtype}, not {eager.dtype}")
        if eager is not None and _strides(output) != _strides(eager):
            self.verdict.strides.append(f"{name}: {output.stride()}, eager's {eager.stride()}")
        if not is_continuous(expected):
            shares = [share_unequal(other, expected) for other in others]
            eager_share = max(shares, default=None)
            if eager_share is not None and self._tolerance.allows(eager_share, 0.0) >= 1:
                self.leave(f"{name}: rounding decides most of it")
                return
            share = share_unequal(output, expected)
            self._compare(name, share, eager_share, 0.0, measure="share_unequal")
            return
        finite = torch.isfinite(as_reals(expected).to(torch.float64))
        if expected.numel() and not bool(finite.any()):
            self.leave(f"{name}: none of it is finite in the reference")
            return
        if name == "outputs":
            others = others[: len(others) - len(moved)]
        self._distances(name, output, expected, others)

    def _distances(
        self, name: str, output: Tensor, expected: Tensor, others: Sequence[Tensor]
    ) -> None:
        """others: eager's, and of the references whose weights and inputs were moved."""
        of_others = [distances(other, expected) for other in others]
        if any(math.isinf(other["relative_l2"]) for other in of_others):
            self.leave(f"{name}: infinite, or not a number, in eager where the reference is not")
            return
        eager_drift = max((other["relative_l2"] for other in of_others), default=None)
        eager_worst = max((other["worst_row"] for other in of_others), default=None)
        details = distances(output, expected)
        worst, drift = details.pop("worst_row"), details.pop("relative_l2")
        self._compare(name, drift, eager_drift, self._tolerance.floor, **details)
        if expected.dim() > 1:
            row = name.replace("outputs", "worst_row", 1)
            self._compare(row, worst, eager_worst, self._tolerance.worst_floor)

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
            text = f"optimizer_step: {still[0][:100]} does not move{others}"
            self.leave(f"{text}, and eager could not be run")

    def buffers(self) -> None:
        """Check the buffers as the first step left them, where changed: running means, counters."""
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


def _strides(tensor: Tensor) -> list[int]:
    """List the strides that lead anywhere: those of axes longer than 1."""
    sizes = zip(tensor.shape, tensor.stride(), strict=True)
    return [stride for size, stride in sizes if size > 1]


def _moves(moved: Tensor) -> bool:
    """Test whether so much of a parameter moves that moving none of it cannot be rounding."""
    elements = int(moved.count_nonzero())
    return elements >= max(MOVING_ELEMENTS, MOVING_SHARE * moved.numel())


def _loss_distance(observed: Observed, reference: Observed) -> float:
    """Relative distance of the last loss."""
    loss, expected = observed.losses[-1], reference.losses[-1]
    if not math.isfinite(loss):
        return math.inf
    return abs(loss - expected) / (abs(expected) or 1.0)


def matmul_precision() -> str:
    """The precision of float32 matmuls in every arm; the variant may set another than torch's."""
    return str(torch.get_float32_matmul_precision())
