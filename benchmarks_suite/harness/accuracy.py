"""Drift and accuracy by our own fixed definition, the same in every torch release.

Reference: the same weights and inputs in float64, in eager, on the same device; what a model casts
to a narrower type by hand is kept at float64 too. Each arm gets the same restored state, dropout 0,
and the matmul precision of the timing.

Distance of a tensor x from the reference r: relative L2 = |x - r| / |r|; next to it the largest
error in units of the largest |r|, and 1 - cosine. Compared are the output of one forward pass; in
training the gradients of the first step (over all parameters together, and for the worst single
one), and the loss after k steps.

Rule: an arm passes where its relative L2 is at most 3 times eager's own (what the dtype alone
costs), or at most a floor of the dtype (eager can be closer to float64 by luck, and is, where it is
one exact operation). A config that multiplies in float8 may be as much further as float8 is
coarser. These numbers were chosen so that another order of summation, or one rounding to the
benchmark's own dtype more, passes, and a dropped term, a stale input, or a rounding to a narrower
dtype than is meant fails: tests/suite/test_harness_accuracy.py compiles such wrong functions.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from benchmarks_suite.harness.arms import Arm, eager_arm, restored_state
from benchmarks_suite.harness.working_copies import WorkingCopy
from benchmarks_suite.workload import Inputs

# A single parameter's gradient is a short sum, and so noisier than all of them together
WORST_FLOOR = 10
WORST_AT_MOST = 0.5  # one that is missing is 1 away
# A gradient below this share of the whole is compared with that share, not with its own size
NEGLIGIBLE = 1e-3
RULE = (
    "relative L2 to float64 at most 3 x eager's own, or at most the dtype's floor "
    "(float32 4e-6, float16 1e-3, bfloat16 8e-3; loss 1e-4, 1e-2, 3e-2; "
    "one parameter's gradient 10 x that, at most 0.5); of a config in float8 0.125, loss 0.1, "
    "or eager's own times eps of float8 / eps of its dtype"
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
        return max(self.ratio * (eager_drift or 0.0), floor)


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
class Observed:
    """What one arm computed from the restored state.

    output: of one forward pass; None where it cannot be had apart from the step.
    gradients: of the first step, by parameter; empty for inference.
    losses: of each of k training steps; empty for inference.
    """

    output: Tensor | None
    gradients: Mapping[str, Tensor] = field(default_factory=dict)
    losses: Sequence[float] = ()

    @property
    def finite(self) -> bool:
        tensors = list(self.gradients.values())
        if self.output is not None:
            tensors.append(self.output)
        return all(map(_is_finite, tensors)) and all(map(math.isfinite, self.losses))


def _is_finite(tensor: Tensor) -> bool:
    return bool(torch.isfinite(tensor).all())


def observe(working_copy: WorkingCopy, arm: Arm, batches: Sequence[Inputs], steps: int) -> Observed:
    """Runs ``arm`` from the restored state, and leaves it restored.

    steps: k, the training steps after which losses are compared.
    """
    with restored_state(arm):
        output = None
        if arm.forward is not None:
            output = working_copy.workload.output(arm.forward(batches[0])).detach().clone()
    if not working_copy.training:
        return Observed(output)
    with restored_state(arm):
        losses = [float(arm.step(batches[0]))]
        gradients = _gradients(arm.module)
        for index in range(1, steps):
            losses.append(float(arm.step(batches[index % len(batches)])))
    return Observed(output, gradients, losses)


def _gradients(module: nn.Module) -> dict[str, Tensor]:
    """A copy of each parameter's gradient, by the name that the parameter has unwrapped.

    It is whole where the ranks hold parts.
    """
    gradients: dict[str, Tensor] = {}
    for name, parameter in module.named_parameters():
        if parameter.grad is None:
            continue
        gradient = parameter.grad.detach()
        if hasattr(gradient, "full_tensor"):
            gradient = gradient.full_tensor()
        # What DistributedDataParallel and parametrizations add to the name
        unwrapped = name.removeprefix("module.").replace("parametrizations.", "")
        gradients[unwrapped.removesuffix(".original")] = gradient.clone()
    return gradients


def observe_reference(working_copy: WorkingCopy, dtype: torch.dtype, steps: int) -> Observed:
    """The same in a wider ``dtype`` and eager.

    Raises what torch raises where that has no room or no operator.
    """
    wide = working_copy.widened(dtype)
    with WideEverywhere(dtype):
        return observe(wide, eager_arm(wide, dropout=False), wide.batches, steps)


@dataclass(frozen=True)
class AccuracyVerdict:
    """Drift of one arm under the rule.

    tensors: outputs, gradients, loss -> their distances.
    failures: what broke the rule.
    """

    tensors: dict[str, dict[str, Any]]
    failures: list[str]


def assess(
    observed: Observed, eager: Observed | None, reference: Observed, tolerance: Tolerance
) -> AccuracyVerdict:
    """Compares ``observed`` with the reference; ``eager`` None: the floor alone decides."""
    verdict = AccuracyVerdict({}, [])

    def compare(
        name: str, drift: float, eager_drift: float | None, floor: float, **details: Any
    ) -> None:
        verdict.tensors[name] = {
            "relative_l2": drift,
            "eager_relative_l2": eager_drift,
            **details,
        }
        allowed = tolerance.allows(eager_drift, floor)
        if not drift <= allowed:
            eager_text = "not measured" if eager_drift is None else f"{eager_drift:.2g}"
            verdict.failures.append(
                f"{name}: {drift:.2g}, eager {eager_text}, allowed {allowed:.2g}"
            )

    if observed.output is not None and reference.output is not None:
        eager_drift = None
        if eager is not None and eager.output is not None:
            eager_drift = relative_l2(eager.output, reference.output)
        details = distances(observed.output, reference.output)
        compare("outputs", details.pop("relative_l2"), eager_drift, tolerance.floor, **details)
    if reference.gradients:
        drift = gradient_distance(observed.gradients, reference.gradients)
        eager_drift = gradient_distance(eager.gradients, reference.gradients) if eager else None
        compare("gradients", drift, eager_drift, tolerance.floor)
        worst = _worst_gradient(observed, eager, reference, tolerance.ratio)
        worst_floor = min(WORST_FLOOR * tolerance.floor, WORST_AT_MOST)
        compare("worst_gradient", **worst, floor=worst_floor)
    if reference.losses:
        drift = _loss_distance(observed, reference)
        eager_drift = _loss_distance(eager, reference) if eager else None
        compare("loss", drift, eager_drift, tolerance.loss, steps=len(reference.losses))
    return verdict


def two_runs_differ(first: Observed, second: Observed, dtype: torch.dtype) -> str:
    """How far two runs of the same arm are apart; empty where that is within the dtype's floor."""
    verdict = assess(second, None, first, tolerance(dtype))
    return "; ".join(verdict.failures)


def _worst_gradient(
    observed: Observed, eager: Observed | None, reference: Observed, ratio: float
) -> dict[str, Any]:
    """The parameter whose gradient is furthest from what the rule allows it."""
    of_eager = gradient_distances(eager.gradients, reference.gradients) if eager else {}
    drifts = gradient_distances(observed.gradients, reference.gradients)
    name = max(drifts, key=lambda name: drifts[name] - ratio * of_eager.get(name, 0.0))
    return {"drift": drifts[name], "eager_drift": of_eager.get(name), "parameter": name}


def _loss_distance(observed: Observed, reference: Observed) -> float:
    """Relative distance of the last loss."""
    loss, expected = observed.losses[-1], reference.losses[-1]
    if not math.isfinite(loss):
        return math.inf
    return abs(loss - expected) / (abs(expected) or 1.0)


class WideEverywhere(TorchFunctionMode):
    """Keeps a reference run wide where the model asks for a narrower type by hand.

    Models do so in norms, softmax and rotary embeddings.
    """

    _NARROW = frozenset({torch.float32, torch.float16, torch.bfloat16})
    _CASTS = frozenset({torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16})

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self._dtype = dtype

    def __torch_function__(
        self, func: Any, types: Iterable[type], args: Any = (), kwargs: Any = None
    ) -> Any:
        if func in self._CASTS:
            return args[0].to(self._dtype)
        wide_kwargs = {name: self._wide(value) for name, value in (kwargs or {}).items()}
        return func(*map(self._wide, args), **wide_kwargs)

    def _wide(self, value: Any) -> Any:
        if isinstance(value, torch.dtype) and value in self._NARROW:
            return self._dtype
        return value


def relative_l2(value: Tensor, reference: Tensor) -> float:
    """|value - reference| / |reference|, in float64. Infinite where value is not finite."""
    if not _is_finite(value):
        return math.inf
    reference = reference.to(torch.float64)
    distance = (value.to(torch.float64) - reference).norm()
    if not float(distance):
        return 0.0
    return float(distance / reference.norm())


def distances(value: Tensor, reference: Tensor) -> dict[str, float]:
    """relative_l2, max_error (relative to the largest reference) and one_minus_cosine."""
    wide, reference = value.to(torch.float64).flatten(), reference.to(torch.float64).flatten()
    largest = float(reference.abs().max()) or 1.0
    one_minus_cosine = 0.0
    norms = float(wide.norm() * reference.norm())
    if norms:
        one_minus_cosine = 1 - float(wide @ reference) / norms
    return {
        "relative_l2": relative_l2(wide, reference),
        "max_error": float((wide - reference).abs().max()) / largest,
        "one_minus_cosine": one_minus_cosine,
    }


def gradient_distance(gradients: Mapping[str, Tensor], reference: Mapping[str, Tensor]) -> float:
    """Relative L2 over all parameters together; a gradient that is missing counts as zero."""
    if not all(map(_is_finite, gradients.values())):
        return math.inf
    errors = _errors(gradients, reference).values()
    return math.sqrt(sum(error**2 for error in errors)) / (_whole_norm(reference) or 1.0)


def gradient_distances(
    gradients: Mapping[str, Tensor], reference: Mapping[str, Tensor]
) -> dict[str, float]:
    """Relative L2 of each parameter's gradient.

    A negligible one is measured against NEGLIGIBLE of the whole.
    """
    least = NEGLIGIBLE * _whole_norm(reference) or 1.0
    return {
        name: error / max(float(reference[name].norm()), least)
        for name, error in _errors(gradients, reference).items()
    }


def _errors(gradients: Mapping[str, Tensor], reference: Mapping[str, Tensor]) -> dict[str, float]:
    """|gradient - reference| of each parameter that the reference has a gradient for."""
    errors: dict[str, float] = {}
    for name, expected in reference.items():
        gradient = gradients.get(name)
        if gradient is None:
            gradient = torch.zeros_like(expected)
        errors[name] = float((gradient.to(torch.float64) - expected).norm())
    return errors


def _whole_norm(tensors: Mapping[str, Tensor]) -> float:
    squares = (float(tensor.to(torch.float64).square().sum()) for tensor in tensors.values())
    return math.sqrt(sum(squares))


def matmul_precision() -> str:
    """The precision of float32 matmuls in every arm; the variant may set another than torch's."""
    return str(torch.get_float32_matmul_precision())
