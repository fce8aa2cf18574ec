"""What the distance of a whole tensor does not show: steps, rows, buffers, shapes, dropout."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from benchmarks_suite.harness import accuracy, dropout, observing, tolerances
from benchmarks_suite.harness.accuracy import AccuracyVerdict
from benchmarks_suite.harness.arms import Arm, arm_around, eager_arm, new_optimizer
from benchmarks_suite.harness.observing import Observed
from benchmarks_suite.harness.working_copies import WorkingCopy
from tests.builders.workloads import WIDTH, a_module, a_workload, working_copy

FLOAT32, BFLOAT16 = tolerances.tolerance(torch.float32), tolerances.tolerance(torch.bfloat16)


def arm_of(
    subject: WorkingCopy,
    step: Callable[[torch.optim.Optimizer], Any] | None = None,
    call: Callable[[nn.Module, Tensor], Tensor] | None = None,
) -> Arm:
    """An arm in eager whose optimizer steps, or whose module is called, as given."""
    module = subject.twin(dropout=False)
    optimizer = new_optimizer(subject, module)
    callee = module if call is None else lambda x: call(module, x)
    own_step = None
    if step is not None and optimizer is not None:
        own_step = lambda: step(optimizer)  # noqa: E731 - it ends a step
    return arm_around("compiled", subject, module, callee, optimizer, own_step)


def verdict_on(subject: WorkingCopy, arm: Arm) -> AccuracyVerdict:
    def observe(arm: Arm) -> Observed:
        return observing.observe(subject, arm, subject.batches, steps=3)

    return accuracy.assess(
        observe(arm),
        observe(eager_arm(subject, dropout=False)),
        observing.observe_reference(subject, torch.float64, steps=3),
        tolerances.tolerance(subject.autocast_dtype or subject.dtype),
    )


def outputs_verdict(
    observed: Tensor, eager: Tensor, reference: Tensor, tolerance: tolerances.Tolerance = FLOAT32
) -> AccuracyVerdict:
    return accuracy.assess(Observed(observed), Observed(eager), Observed(reference), tolerance)


def never(optimizer: torch.optim.Optimizer) -> None:
    """An optimizer that does not step."""


def without_first_weight(optimizer: torch.optim.Optimizer) -> None:
    """One that leaves a parameter where it is."""
    optimizer.param_groups[0]["params"][0].grad = None
    optimizer.step()


def with_old_statistics(module: nn.Module, x: Tensor) -> Tensor:
    """A forward pass that leaves the running statistics as they were."""
    kept = {name: buffer.clone() for name, buffer in module.named_buffers()}
    output: Tensor = module(x)
    for name, buffer in module.named_buffers():
        buffer.data.copy_(kept[name])  # which autograd does not see
    return output


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "autocast_bf16"])
def test_optimizer_that_never_steps_fails(dtype: str) -> None:
    subject = working_copy(dtype=dtype)
    verdict = verdict_on(subject, arm_of(subject, never))
    assert any(failure.startswith("optimizer_step: 1, ") for failure in verdict.failures)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "autocast_bf16"])
def test_optimizer_that_steps_passes(dtype: str) -> None:
    subject = working_copy(dtype=dtype)
    assert verdict_on(subject, arm_of(subject)).failures == []


def test_parameter_that_the_optimizer_forgets_is_named() -> None:
    subject = working_copy()
    arm = arm_of(subject, without_first_weight)
    observed = observing.observe(subject, arm, subject.batches, 1)
    eager = observing.observe(subject, eager_arm(subject), subject.batches, 1)
    observed = replace(observed, gradients=eager.gradients)
    reference = observing.observe_reference(subject, torch.float64, 1)
    verdict = accuracy.assess(observed, eager, reference, FLOAT32)
    assert verdict.failures == ["optimizer_step: 0.weight does not move"]


def test_many_parameters_that_do_not_move_are_one_sentence_without_eager() -> None:
    moves = {f"layer.{n}.weight": torch.ones(16) for n in range(40)}
    reference = Observed(None, losses=[1.0], moves=moves)
    observed = replace(reference, moves={name: torch.zeros(16) for name in moves})
    verdict = accuracy.assess(observed, None, reference, FLOAT32)
    assert verdict.unjudged == [
        "optimizer_step: layer.0.weight does not move nor do 39 others, and eager could not be run"
    ]


def test_output_of_another_shape_fails() -> None:
    right = torch.ones(4, 3)
    verdict = outputs_verdict(torch.ones(1, 3), right, right)
    assert verdict.failures[0] == "outputs: shape (1, 3), not (4, 3)"


def test_output_of_another_dtype_fails() -> None:
    right = torch.ones(4, 3)
    verdict = outputs_verdict(right, right.bfloat16(), right.double(), BFLOAT16)
    assert verdict.failures == ["outputs: torch.float32, not torch.bfloat16"]


def test_gradient_of_a_parameter_that_should_have_none_fails() -> None:
    right = Observed(None, {"weight": torch.ones(4)}, [1.0])
    wrong = replace(right, gradients={**right.gradients, "frozen": torch.ones(2)})
    verdict = accuracy.assess(wrong, right, right, FLOAT32)
    assert verdict.failures == ["gradients: frozen has one, and should have none"]
    zero = replace(right, gradients={**right.gradients, "frozen": torch.zeros(2)})
    assert accuracy.assess(zero, right, right, FLOAT32).failures == []


def test_beyond_the_floor_eagers_own_distance_decides_and_what_is_missing_fails() -> None:
    right = torch.ones(8)
    reference, off, wrong = Observed(right), Observed(right * 1.1), Observed(right * 0)
    verdict = accuracy.assess(off, None, reference, FLOAT32)
    assert (verdict.failures, len(verdict.unjudged)) == ([], 1)
    assert accuracy.assess(off, reference, reference, FLOAT32).failures
    assert accuracy.assess(wrong, None, reference, FLOAT32).failures


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_batch_norm_that_keeps_its_old_statistics_fails(dtype: str) -> None:
    module = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH))
    subject = working_copy(a_workload(module), dtype=dtype)
    failures = verdict_on(subject, arm_of(subject, call=with_old_statistics)).failures
    assert "buffers: 1.num_batches_tracked is not what it should be" in failures
    assert any(failure.startswith("buffers: 1, ") for failure in failures)
    assert verdict_on(subject, arm_of(subject)).failures == []


def test_buffer_that_should_stay_fails_where_it_changes() -> None:
    right = Observed(None, losses=[1.0])
    wrong = replace(right, buffers={"table": torch.ones(2)})
    verdict = accuracy.assess(wrong, right, right, FLOAT32)
    assert verdict.failures == ["buffers: table changes, and should not"]


def test_one_zero_row_in_twenty_thousand_fails() -> None:
    right = torch.randn(20_000, 8, generator=torch.Generator().manual_seed(0))
    wrong = right.clone()
    wrong[12_345] = 0
    verdict = outputs_verdict(wrong, right, right, BFLOAT16)
    assert verdict.tensors["outputs"]["relative_l2"] < BFLOAT16.floor
    assert verdict.failures == ["worst_row: 1, eager 0, allowed 0.08"]


def test_what_is_missing_fails_however_far_eager_is() -> None:
    right = torch.ones(1000)
    eager = right + 0.4
    assert outputs_verdict(torch.zeros(1000), eager, right).failures
    assert outputs_verdict(right - 0.45, eager, right).failures == []


def test_tensor_that_eager_itself_misses_is_not_judged() -> None:
    right = torch.ones(1000)
    verdict = outputs_verdict(right + 0.8, right + 0.8, right)
    assert verdict.failures == []
    assert verdict.tensors["outputs"]["judged"] is False


MASKED = torch.tensor([[1.0, -torch.inf], [2.0, 3.0]])


def test_logits_that_are_masked_alike_pass() -> None:
    assert outputs_verdict(MASKED, MASKED, MASKED.double()).failures == []


def test_logits_that_are_masked_elsewhere_fail() -> None:
    elsewhere = torch.tensor([[1.0, 0.5], [2.0, -torch.inf]])
    assert outputs_verdict(elsewhere, MASKED, MASKED.double()).failures


@pytest.mark.parametrize("strange", [torch.inf, torch.nan])
def test_eager_that_overflows_cannot_be_compared_with(strange: float) -> None:
    reference = torch.tensor([1e6, 1.0], dtype=torch.float64)
    eager = torch.tensor([strange, 1.0])
    verdict = outputs_verdict(reference.float(), eager, reference)
    assert verdict.outputs == {}
    assert "infinite, or not a number, in eager" in verdict.unjudged[0]


# --- Dropout


def dropping(rate: float, inner: nn.Module | None = None) -> WorkingCopy:
    return working_copy(a_workload(nn.Sequential(inner or a_module(2), nn.Dropout(rate))))


def dropout_verdict(subject: WorkingCopy, call: Callable[[Tensor], Tensor]) -> str:
    module = subject.twin()
    compiled = arm_around("compiled", subject, module, call, None)
    eager = eager_arm(subject)
    return dropout.compare(subject, eager, compiled, subject.batches[0], 1e-7)[1]


def test_dropout_of_other_draws_but_the_same_rate_passes() -> None:
    subject = dropping(0.2)

    def other_draws(x: Tensor) -> Tensor:
        torch.rand(17)
        output: Tensor = subject.module(x)
        return output

    assert dropout_verdict(subject, other_draws) == ""


@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_dropout_of_another_rate_fails(rate: float) -> None:
    inner = a_module(2)
    subject = dropping(0.2, inner)
    wrong = dropout_verdict(subject, lambda x: nn.functional.dropout(inner(x), rate))
    assert "times as far apart as eager's" in wrong


def test_dropout_that_draws_the_same_each_time_fails() -> None:
    subject = dropping(0.2)

    def same_draws(x: Tensor) -> Tensor:
        torch.manual_seed(0)
        output: Tensor = subject.module(x)
        return output

    assert dropout_verdict(subject, same_draws)


def test_dropout_without_its_scale_fails() -> None:
    subject = dropping(0.5)
    wrong = dropout_verdict(subject, lambda x: subject.module(x) * 0.5)
    assert wrong.startswith("dropout: ")


def test_dropout_below_the_drift_is_not_judged() -> None:
    subject = dropping(0.2)
    arm = eager_arm(subject)
    details, failure = dropout.compare(subject, arm, arm, subject.batches[0], drift=1.0)
    assert failure == ""
    assert details["judged"] is False


def test_comparing_dropout_leaves_the_generator_where_it_was() -> None:
    subject = dropping(0.2)
    before = torch.get_rng_state()
    arm = eager_arm(subject)
    dropout.compare(subject, arm, arm, subject.batches[0], drift=1e-7)
    assert torch.equal(torch.get_rng_state(), before)
