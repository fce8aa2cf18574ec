"""From what an own model's function returns to a Workload. docs/own-models.md."""

import inspect
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from benchmarks_suite import own
from benchmarks_suite.benchmark import Benchmark, import_module_or_file
from benchmarks_suite.harness.generator import own_draws
from benchmarks_suite.workload import Inputs, Workload, weights_not_drawn


def build(benchmark: Benchmark) -> Workload:
    """Calls the benchmark's function with the parameters that it takes.

    What it draws with torch is the same in every torch release; large weights are not drawn, the
    harness fills them. Raises TypeError where it returns anything but a module and its inputs.
    """
    file = import_module_or_file(benchmark.module)
    function = getattr(file, own.PREFIX + benchmark.model)
    parameters = inspect.signature(function).parameters.keys() & own.PARAMETERS.keys()
    with own_draws("own", benchmark.model), weights_not_drawn():
        returned = function(**{name: getattr(benchmark, name) for name in parameters})
    if isinstance(returned, Workload):
        return returned
    return _workload(returned, benchmark, getattr(file, "ITEMS", own.CONSTANTS["ITEMS"]))


def _workload(returned: Any, benchmark: Benchmark, items_a_sample: int) -> Workload:
    has_inputs = isinstance(returned, tuple) and len(returned) in (2, 3)
    if not has_inputs or not isinstance(returned[0], nn.Module):
        raise TypeError(
            f"{own.PREFIX}{benchmark.model} returned a {type(returned).__name__}: return a module "
            "and its inputs, and for training a function (output, inputs) -> loss as the third"
        )
    module, inputs, *loss = returned

    def draw(index: int) -> Any:
        if callable(inputs) and not isinstance(inputs, Tensor):
            return inputs(index)
        return inputs

    form = _InputForm(draw(0))

    def loss_of(output: Any, batch: Inputs) -> Tensor:
        scalar: Tensor = loss[0](output, form.as_given(batch))
        return scalar

    return Workload(
        module=module,
        inputs=lambda index, generator: form.named(draw(index)),
        items=lambda batch: benchmark.batch_size * items_a_sample,
        item=benchmark.item,
        call=form.call,
        loss=loss_of if loss else None,
    )


class _InputForm:
    """Form of the author's inputs: one tensor, several in a tuple, or by name in a dictionary."""

    def __init__(self, example: Any) -> None:
        self._by_name = isinstance(example, Mapping)
        self._alone = isinstance(example, Tensor)

    def named(self, inputs: Any) -> Inputs:
        """The inputs by name, or by position where they have none.

        The same tensors at every call: the caller copies.
        """
        if self._by_name:
            return dict(inputs)
        values = [inputs] if self._alone else inputs
        return {str(position): value for position, value in enumerate(values)}

    def as_given(self, batch: Inputs) -> Any:
        if self._by_name:
            return dict(batch)
        values = tuple(batch.values())
        return values[0] if self._alone else values

    def call(self, module: nn.Module, batch: Inputs) -> Any:
        if self._by_name:
            return module(**batch)
        return module(*batch.values())
