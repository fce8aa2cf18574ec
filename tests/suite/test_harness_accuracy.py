"""The rule lets through what a compiler may do, and nothing else.

It is tried with compiled functions that are wrong on purpose.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, fx, nn

from benchmarks_suite.harness import accuracy, observing, tolerances
from benchmarks_suite.harness.arms import arm_around, eager_arm, new_optimizer
from benchmarks_suite.harness.distances import distance_of_all
from benchmarks_suite.harness.observing import Observed
from benchmarks_suite.harness.working_copies import WorkingCopy
from tests.builders.workloads import a_module, a_workload, working_copy

Rewrite = Callable[[fx.GraphModule], None]
DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "autocast_bf16": torch.bfloat16,
}


def verdict_on(
    subject: WorkingCopy, rewrite: Rewrite, in_float8: bool = False
) -> accuracy.AccuracyVerdict:
    """Compiles the workload with a backend that rewrites the graph, and assesses the result."""

    def backend(graph: fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        rewrite(graph)
        graph.recompile()
        return graph.forward

    torch._dynamo.reset()
    module = subject.twin(dropout=False)
    compiled = torch.compile(module, backend=backend)
    wrong = arm_around("compiled", subject, module, compiled, new_optimizer(subject, module))
    right = eager_arm(subject, dropout=False)
    return accuracy.assess(
        observed=observing.observe(subject, wrong, subject.batches, steps=3),
        eager=observing.observe(subject, right, subject.batches, steps=3),
        reference=observing.observe_reference(subject, torch.float64, steps=3),
        tolerance=tolerances.tolerance(subject.autocast_dtype or subject.dtype, in_float8),
    )


def after_each(name: str, change: Callable[[Tensor], Tensor]) -> Rewrite:
    """Applies ``change`` to the result of each node whose target's name holds ``name``."""

    def rewrite(graph: fx.GraphModule) -> None:
        for node in _calls(graph, name):
            with graph.graph.inserting_after(node):
                changed = graph.graph.call_function(change, (node,))
            node.replace_all_uses_with(changed, delete_user_cb=_other_than(changed))

    return rewrite


def _other_than(node: fx.Node) -> Callable[[fx.Node], bool]:
    return lambda user: user is not node


def _calls(graph: fx.GraphModule, name: str) -> list[fx.Node]:
    nodes = [node for node in graph.graph.nodes if node.op == "call_function"]
    return [node for node in nodes if name in str(node.target)]


def nothing(graph: fx.GraphModule) -> None:
    """A right compiler."""


def rounded_to(dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
    return lambda tensor: tensor.to(dtype).to(tensor.dtype)


class ToFloat8(torch.autograd.Function):
    """Rounds a tensor, and its gradient, as torchao does.

    Both are scaled so that the largest number just fits.
    """

    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        scale = 448 / tensor.abs().max()  # the largest e4m3 number
        return (tensor * scale).to(torch.float8_e4m3fn).to(tensor.dtype) / scale

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        return ToFloat8.forward(ctx, gradients[0])


def to_float8(tensor: Tensor) -> Tensor:
    result: Tensor = ToFloat8.apply(tensor)  # type: ignore[no-untyped-call]
    return result


def without_bias(graph: fx.GraphModule) -> None:
    """Drops the bias of the last linear layer."""
    node = _calls(graph, "linear")[-1]
    node.args = (*node.args[:2], None)


@pytest.mark.parametrize("mode", ["inference", "training"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_right_compiler_passes(mode: str, dtype: str) -> None:
    assert verdict_on(working_copy(mode=mode, dtype=dtype), nothing).failures == []


def test_bf16_rounding_more_passes_in_a_bf16_benchmark() -> None:
    rounded = after_each("linear", rounded_to(torch.bfloat16))
    assert verdict_on(working_copy(dtype="bfloat16"), rounded).failures == []


def test_fewer_roundings_than_eager_pass_in_a_bf16_benchmark() -> None:
    wide = after_each("gelu", lambda tensor: tensor + 0.0)
    assert verdict_on(working_copy(dtype="bfloat16"), wide).failures == []


def test_bf16_rounding_fails_in_a_float32_benchmark() -> None:
    rounded = after_each("gelu", rounded_to(torch.bfloat16))
    verdict = verdict_on(working_copy(mode="inference"), rounded)
    assert verdict.failures[0].startswith("outputs: ")


def test_float8_rounding_passes_only_under_a_config_in_float8() -> None:
    subject = working_copy(dtype="bfloat16")
    rounded = after_each("linear", to_float8)
    assert verdict_on(subject, rounded, in_float8=True).failures == []
    assert verdict_on(subject, rounded).failures


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "autocast_bf16"])
def test_a_dropped_bias_fails(dtype: str) -> None:
    linear = a_workload(nn.Linear(32, 32))
    subject = working_copy(workload=linear, mode="inference", dtype=dtype)
    assert verdict_on(subject, without_bias).failures


@pytest.mark.parametrize("in_float8", [False, True])
def test_a_dropped_term_of_a_residual_sum_fails(in_float8: bool) -> None:
    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = a_module(2)

        def forward(self, x: Tensor) -> Tensor:
            return torch.add(x, self.inner(x))

    def dropped(graph: fx.GraphModule) -> None:
        for node in graph.graph.nodes:
            if node.target is torch.add:
                node.args = (node.args[1], 0.0)

    subject = working_copy(
        workload=a_workload(Residual()),
        mode="inference",
        dtype="bfloat16",
    )
    assert verdict_on(subject, dropped, in_float8).failures


def test_right_outputs_with_wrong_gradients_fail() -> None:
    class Stretched(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, tensor: Tensor) -> Tensor:
            return tensor.clone()

        @staticmethod
        def backward(ctx: Any, *gradients: Tensor) -> Tensor:
            return gradients[0] * 1.01

    def stretched(tensor: Tensor) -> Tensor:
        result: Tensor = Stretched.apply(tensor)  # type: ignore[no-untyped-call]
        return result

    verdict = verdict_on(working_copy(), after_each("gelu", stretched))
    assert verdict.tensors["outputs"]["relative_l2"] < 4e-6
    assert any(failure.startswith("gradients: ") for failure in verdict.failures)


@pytest.mark.parametrize("in_float8", [False, True])
def test_one_wrong_gradient_among_many_fails_and_is_named(in_float8: bool) -> None:
    right = {"large": torch.full((1000,), 10.0), "small": torch.full((4,), 0.5)}
    wrong = right | {"small": torch.zeros(4)}
    reference = Observed(None, right, [1.0])
    observed = Observed(None, wrong, [1.0])
    tolerance = tolerances.tolerance(torch.bfloat16, in_float8)
    verdict = accuracy.assess(observed, reference, reference, tolerance)
    assert distance_of_all(wrong, right) < 4e-3
    assert verdict.tensors["worst_gradient"]["parameter"] == "small"
    assert any("worst_gradient" in failure for failure in verdict.failures)


def test_missing_gradient_fails() -> None:
    right = {"weight": torch.ones(4, 4), "bias": torch.ones(4)}
    reference = Observed(None, right, [1.0])
    observed = Observed(None, {"weight": right["weight"]}, [1.0])
    tolerance = tolerances.tolerance(torch.float32)
    verdict = accuracy.assess(observed, reference, reference, tolerance)
    assert verdict.tensors["worst_gradient"]["parameter"] == "bias"
    assert verdict.failures


@pytest.mark.parametrize("strange", [float("nan"), float("inf")])
def test_an_output_that_is_not_finite_fails(strange: float) -> None:
    reference = Observed(torch.ones(4))
    observed = Observed(torch.tensor([1.0, 1.0, strange, 1.0]))
    tolerance = tolerances.tolerance(torch.float32)
    verdict = accuracy.assess(observed, reference, reference, tolerance)
    assert verdict.failures == ["outputs: inf, eager 0, allowed 4e-06"]


def test_the_reference_stays_wide_where_the_model_narrows_by_hand() -> None:
    class Narrowing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(32, 32)

        def forward(self, x: Tensor) -> Tensor:
            wide = self.linear(x).float()
            return torch.softmax(wide, dim=-1, dtype=torch.float32).to(torch.bfloat16)

    subject = working_copy(workload=a_workload(Narrowing()), mode="inference")
    output = observing.observe_reference(subject, torch.float64, steps=1).output
    assert output is not None
    assert output.dtype == torch.float64
    assert not torch.equal(output, output.float().double())


def test_a_model_with_random_outputs_differs_between_two_runs() -> None:
    class Random(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(32, 32)

        def forward(self, x: Tensor) -> Tensor:
            output: Tensor = self.linear(x) + torch.randn_like(x)
            return output

    subject = working_copy(workload=a_workload(Random()))
    arm = eager_arm(subject)
    first = observing.observe(subject, arm, subject.batches, 2)
    second = observing.observe(subject, arm, subject.batches, 2)
    assert accuracy.two_runs_differ(first, second, torch.float32)


def test_two_runs_of_a_model_with_dropout_agree_because_it_is_set_to_zero() -> None:
    subject = working_copy(workload=a_workload(nn.Sequential(a_module(), nn.Dropout(0.5))))
    assert subject.has_dropout
    runs = []
    for _ in range(2):
        arm = eager_arm(subject, dropout=False)
        runs.append(observing.observe(subject, arm, subject.batches, 2))
    first, second = runs
    assert accuracy.two_runs_differ(first, second, torch.float32) == ""


def test_observing_leaves_weights_buffers_and_optimizer_as_they_were() -> None:
    subject = working_copy(
        workload=a_workload(nn.Sequential(nn.Linear(32, 32), nn.BatchNorm1d(32)))
    )
    before = {name: tensor.clone() for name, tensor in subject.module.state_dict().items()}
    arm = eager_arm(subject)
    first = observing.observe(subject, arm, subject.batches, 3)
    second = observing.observe(subject, arm, subject.batches, 3)
    assert first.losses == second.losses
    for name, tensor in subject.module.state_dict().items():
        assert torch.equal(before[name], tensor)
