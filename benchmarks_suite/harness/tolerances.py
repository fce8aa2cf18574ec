"""Limits of an arm's distance from the reference: accuracy.py says why."""

from dataclasses import dataclass

import torch

# A single parameter's gradient, or row, is a short sum, and so noisier than all of them together
WORST_FLOOR = 10
WORST_AT_MOST = 0.5  # one that is missing is 1 away
# A multiple of eager's distance ends here, or where eager is as far by itself, at ABOVE_CEILING x
CEILING, ABOVE_CEILING = 0.5, 1.5
RULE = (
    "relative L2 to float64 at most 3 x eager's own (up to 0.5), or at most the dtype's floor "
    "(float32 4e-6, float16 1e-3, bfloat16 8e-3; loss 1e-4, 1e-2, 3e-2; one parameter's gradient, "
    "one row, one buffer 10 x that, at most 0.5; the optimizer's step 0.7); of a config in float8 "
    "0.125, loss 0.1, or eager's own times eps of float8 / eps of its dtype; integers: their share "
    "that differs, at most 3 x eager's own"
)


@dataclass(frozen=True)
class Tolerance:
    """Limits of an arm's distance from the reference, as relative L2.

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
