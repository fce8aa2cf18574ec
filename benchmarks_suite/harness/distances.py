"""Distances of tensors from their reference, in float64."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

# A tensor whose norm is below this share of the whole is compared with that share, not with its own
NEGLIGIBLE = 1e-3
# The same of one row: rounding errors are as large as the numbers that were summed
NEGLIGIBLE_ROW = 0.1


def is_finite(tensor: Tensor) -> bool:
    return bool(torch.isfinite(tensor).all())


def is_continuous(tensor: Tensor) -> bool:
    """Test whether it has a distance: it holds floats or complex numbers."""
    return tensor.is_floating_point() or tensor.is_complex()


def as_reals(tensor: Tensor) -> Tensor:
    """A complex (..., n) as (..., 2n) real and imaginary parts; others as they are."""
    if not tensor.is_complex():
        return tensor
    return torch.view_as_real(tensor.resolve_conj()).reshape(*tensor.shape[:-1], -1)


def share_unequal(values: Tensor, reference: Tensor) -> float:
    """Share of the integers, or booleans, that differ."""
    if values.shape != reference.shape:
        return 1.0
    return float((values != reference).to(torch.float64).mean()) if values.numel() else 0.0


def difference(value: Tensor, reference: Tensor) -> tuple[Tensor, Tensor] | None:
    """value - reference, and the reference, in float64.

    Both are 0 where the reference is infinite (the logits of what is masked), or not a number (a
    row that attends to nothing), and the value too; None where the value is otherwise not finite,
    or of another shape.
    """
    if value.shape != reference.shape:
        return None
    apart, wide = (as_reals(tensor).to(torch.float64) for tensor in (value, reference))
    strange = ~torch.isfinite(wide)
    if bool(strange.any()):
        if not torch.allclose(apart[strange], wide[strange], equal_nan=True):
            return None
        apart, wide = apart.masked_fill(strange, 0.0), wide.masked_fill(strange, 0.0)
    if not is_finite(apart):
        return None
    return apart - wide, wide


def _relative(apart: Tensor, reference: Tensor) -> float:
    distance = apart.norm()
    if not float(distance):
        return 0.0
    return float(distance / reference.norm())


def distances(value: Tensor, reference: Tensor) -> dict[str, Any]:
    """relative_l2, max_error (relative to the largest reference), one_minus_cosine; worst_row."""
    compared = difference(value, reference)
    if compared is None or not compared[0].numel():
        nothing = math.inf if compared is None else 0.0
        names = ("relative_l2", "max_error", "one_minus_cosine", "worst_row")
        return dict.fromkeys(names, nothing)
    apart, wide = compared
    one_minus_cosine = 0.0
    norms = float((wide + apart).norm() * wide.norm())
    if norms:
        one_minus_cosine = 1 - float(((wide + apart) * wide).sum()) / norms
    return {
        "relative_l2": _relative(apart, wide),
        "max_error": float(apart.abs().max()) / (float(wide.abs().max()) or 1.0),
        "one_minus_cosine": one_minus_cosine,
        "worst_row": _worst_row(apart, wide),
    }


def _worst_row(apart: Tensor, reference: Tensor) -> float:
    """The largest relative L2 of one row, along the last axis: a sample's, a token's, a line's."""
    if reference.dim() < 2:
        return _relative(apart, reference)
    errors, norms = apart.norm(dim=-1), reference.norm(dim=-1)
    typical = norms.square().mean().sqrt()
    if not float(typical):
        return float(errors.max())
    return float((errors / norms.clamp(min=NEGLIGIBLE_ROW * float(typical))).max())


def distance_of_all(values: Mapping[str, Tensor], reference: Mapping[str, Tensor]) -> float:
    """Relative L2 over all tensors together; one that is missing counts as zero."""
    if not all(map(is_finite, values.values())):
        return math.inf
    errors = _errors(values, reference).values()
    return math.sqrt(sum(error**2 for error in errors)) / (_whole_norm(reference) or 1.0)


def distance_of_each(
    values: Mapping[str, Tensor], reference: Mapping[str, Tensor]
) -> dict[str, float]:
    """Relative L2 of each tensor.

    A negligible one is measured against NEGLIGIBLE of the whole.
    """
    least = NEGLIGIBLE * _whole_norm(reference) or 1.0
    return {
        name: error / max(float(reference[name].to(torch.float64).norm()), least)
        for name, error in _errors(values, reference).items()
    }


def negligible(tensors: Mapping[str, Tensor]) -> set[str]:
    """The names of those whose norm is below NEGLIGIBLE of the whole."""
    least = NEGLIGIBLE * _whole_norm(tensors)
    return {name for name, tensor in tensors.items() if float(tensor.norm()) < least}


def _errors(values: Mapping[str, Tensor], reference: Mapping[str, Tensor]) -> dict[str, float]:
    """|value - reference| of each tensor that the reference has; infinite where one is not
    finite.
    """
    errors: dict[str, float] = {}
    for name, expected in reference.items():
        value = values.get(name)
        if value is None:
            value = torch.zeros_like(expected)
        error = float((value.to(torch.float64) - expected).norm())
        errors[name] = error if math.isfinite(error) else math.inf
    return errors


def _whole_norm(tensors: Mapping[str, Tensor]) -> float:
    squares = (float(tensor.to(torch.float64).square().sum()) for tensor in tensors.values())
    return math.sqrt(sum(squares))
