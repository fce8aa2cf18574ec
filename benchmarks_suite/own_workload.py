"""From what an own model's function returns to the Workload that the harness measures.
docs/own-models.md.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks_suite import own
from benchmarks_suite.benchmark import Benchmark, import_module_or_file
from benchmarks_suite.harness.generator import own_draws
from benchmarks_suite.workload import Inputs, Workload, weights_not_drawn


def build(benchmark: Benchmark) -> Workload:
    """Calls the benchmark's function with the parameters that it asks for.

    What it draws with torch is the same in every torch release; large weights are not drawn, the
    harness fills them. Raises TypeError where it returns something else than a module and its
    inputs.
    """
    function = getattr(import_module_or_file(benchmark.module), own.PREFIX + benchmark.model)
    asked = inspect.signature(function).parameters.keys() & own.PARAMETERS.keys()
    with own_draws("own", benchmark.model), weights_not_drawn():
        made = function(**{name: getattr(benchmark, name) for name in asked})
    return made if isinstance(made, Workload) else _workload(made, benchmark)


def _workload(made: Any, benchmark: Benchmark) -> Workload:
    if not isinstance(made, tuple) or len(made) not in (2, 3) or not isinstance(made[0], nn.Module):
        raise TypeError(
            f"{own.PREFIX}{benchmark.model} returned {_kind(made)}: return a module and its "
            "inputs, and for training"
            " a function (output, inputs) -> loss as the third"
        )
    module, inputs, *loss = made
    draw: Callable[[int], Any] = (
        inputs if callable(inputs) and not isinstance(inputs, Tensor) else lambda index: inputs
    )
    given = _Given(draw(0))
    return Workload(
        module=module,
        inputs=lambda index, generator: given.named(draw(index)),
        items=lambda batch: benchmark.batch_size,
        item=benchmark.item,
        call=given.call,
        output=first_tensor,
        loss=(lambda output, batch: loss[0](output, given.as_given(batch))) if loss else None,
    )


class _Given:
    """How the author gives inputs: one tensor, several in a tuple, or by name in a dictionary."""

    def __init__(self, example: Any) -> None:
        self._by_name, self._alone = isinstance(example, Mapping), isinstance(example, Tensor)

    def named(self, inputs: Any) -> Inputs:
        """The inputs by name; by place where they have none. The same tensors at every call: the
        caller copies.
        """
        if self._by_name:
            return dict(inputs)
        return {
            str(place): value for place, value in enumerate([inputs] if self._alone else inputs)
        }

    def as_given(self, batch: Inputs) -> Any:
        values = tuple(batch.values())
        return dict(batch) if self._by_name else values[0] if self._alone else values

    def call(self, module: nn.Module, batch: Inputs) -> Any:
        return module(**batch) if self._by_name else module(*batch.values())


def first_tensor(result: Any) -> Tensor:
    """The first tensor of floats in what a module returned. Raises TypeError where there is
    none.
    """
    if isinstance(result, Tensor) and result.is_floating_point():
        return result
    inside: Iterable[Any] = result.values() if isinstance(result, Mapping) else ()
    if isinstance(result, list | tuple):
        inside = result
    for each in inside:
        try:
            return first_tensor(each)
        except TypeError:
            continue
    raise TypeError(
        f"the module returned {_kind(result)}: no tensor of floats in it could be compared"
    )


def _kind(value: Any) -> str:
    return f"a {type(value).__name__}" if not isinstance(value, torch.dtype) else str(value)
