"""Adam as one function over lists of tensors, by foreach_map, which Inductor fuses (torch 2.7)."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


class ForeachMapAdam:
    """The same update as torch.optim.Adam with its defaults.

    D. Kingma and J. Ba, "Adam", ICLR 2015, algorithm 1.
    """

    def __init__(self, parameters: Sequence[nn.Parameter], learning_rate: float) -> None:
        self._parameters = [parameter for parameter in parameters if parameter.requires_grad]
        self._means = list(map(torch.zeros_like, self._parameters))
        self._squares = list(map(torch.zeros_like, self._parameters))
        self._steps = [torch.zeros((), device=parameter.device) for parameter in self._parameters]
        self._learning_rate = learning_rate
        self._update: Callable[..., None] = torch.compile(self._updated, fullgraph=True)

    def step(self) -> None:
        """One update from the parameters' gradients; a parameter without one is not touched."""
        used = [
            index for index, parameter in enumerate(self._parameters) if parameter.grad is not None
        ]

        def of_used(tensors: Sequence[Tensor]) -> list[Tensor]:
            return [tensors[index] for index in used]

        gradients = [parameter.grad for parameter in of_used(self._parameters)]
        with torch.no_grad():
            self._update(
                of_used(self._parameters),
                of_used(self._means),
                of_used(self._squares),
                of_used(self._steps),
                gradients,
            )

    def forget(self) -> None:
        """Back to the state before the first step, in place."""
        for tensor in (*self._means, *self._squares, *self._steps):
            tensor.zero_()

    def _updated(
        self,
        parameters: list[Tensor],
        means: list[Tensor],
        squares: list[Tensor],
        steps: list[Tensor],
        gradients: list[Tensor],
    ) -> None:
        from torch._higher_order_ops.foreach_map import foreach_map

        learning_rate = self._learning_rate

        def update(
            parameter: Tensor, mean: Tensor, square: Tensor, step: Tensor, gradient: Tensor
        ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
            step = step + 1
            mean = mean.lerp(gradient, 1 - BETA1)
            square = square * BETA2 + (1 - BETA2) * gradient * gradient
            scale = (1 - BETA2**step).sqrt()
            rate = learning_rate / (1 - BETA1**step)
            parameter = parameter - rate * mean / (square.sqrt() / scale + EPSILON)
            return parameter, mean, square, step

        # One tuple for each parameter
        updated = foreach_map(update, parameters, means, squares, steps, gradients)
        states = (parameters, means, squares, steps)
        for old, new in zip(states, zip(*updated, strict=True), strict=True):
            torch._foreach_copy_(old, list(new))
