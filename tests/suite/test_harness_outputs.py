"""Every output is compared: each offender is caught in each model, and rounding alone is not."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from benchmarks_suite.benchmark import Benchmark
from benchmarks_suite.harness import accuracy, observing, tolerances
from benchmarks_suite.harness.accuracy import AccuracyVerdict
from benchmarks_suite.harness.arms import eager_arm
from benchmarks_suite.harness.generator import own_draws
from benchmarks_suite.harness.observing import Observed
from benchmarks_suite.harness.working_copies import WorkingCopy
from benchmarks_suite.loading import load
from benchmarks_suite.workload import Inputs, first_tensor, tensors_of
from tests.builders.workloads import WIDTH, a_module, a_workload, working_copy
from tests.suite.test_models_smoke import SMOKE

Outputs = dict[str, Any]
ON_ONE_DEVICE = [benchmark for benchmark in SMOKE if benchmark.family != "distributed"]
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "autocast_bf16": torch.bfloat16}


@dataclass
class Pair:
    """An output of a class that no library knows."""

    spectrum: Tensor
    row: Tensor


class ManyOutputs(nn.Module):
    """Floats, positions, a mask, a masked row, complex numbers, one number."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = a_module(1)

    def forward(self, x: Tensor) -> Outputs:
        return many_outputs_of(self.inner(x))


def many_outputs_of(output: Tensor) -> Outputs:
    rows = output.flatten(0, -2)
    values, positions = rows.topk(4)
    masked = torch.cat([torch.full_like(rows[:1], -torch.inf), rows[1:]])
    return {
        "logits": rows,
        "top": (values, positions),
        "mask": rows > rows.mean(),
        "masked": torch.softmax(masked, -1),
        "pair": Pair(torch.fft.rfft(rows.float()), rows.mean(-1)),
        "loss": rows.square().mean(),
    }


def changed(name: str, change: Callable[[Tensor], Tensor]) -> Callable[[Outputs], Outputs]:
    """Changes one tensor of the outputs, by the path that it has in them."""

    def offend(outputs: Any, path: str = "") -> Any:
        if isinstance(outputs, Tensor):
            return change(outputs) if path == name else outputs
        if isinstance(outputs, dict):
            return {key: offend(value, f"{path}[{key!r}]") for key, value in outputs.items()}
        if isinstance(outputs, tuple):
            return tuple(offend(value, f"{path}[{n}]") for n, value in enumerate(outputs))
        parts = {key: offend(value, f"{path}.{key}") for key, value in vars(outputs).items()}
        return Pair(**parts)

    return offend


def with_other_rows(tensor: Tensor) -> Tensor:
    return tensor.roll(1, 0)


OFFENDERS = {
    "positions are one further": changed("['top'][1]", lambda ids: ids + 1),
    "positions are all zero": changed("['top'][1]", torch.zeros_like),
    "positions of another row": changed("['top'][1]", with_other_rows),
    "positions are of another dtype": changed("['top'][1]", Tensor.int),
    "mask is inverted": changed("['mask']", torch.logical_not),
    "mask of another row": changed("['mask']", with_other_rows),
    "second output is half as large again": changed("['pair'].row", lambda row: row * 1.5),
    "second output is missing": lambda outputs: outputs | {"top": outputs["top"][:1]},
    "values of another row": changed("['top'][0]", with_other_rows),
    "spectrum is conjugate": changed("['pair'].spectrum", torch.conj),
    "spectrum has no imaginary part": changed("['pair'].spectrum", lambda z: z.real + 0j),
    "masked row is zero": changed("['masked']", Tensor.nan_to_num),
    "another row is masked": changed("['masked']", with_other_rows),
    "loss is a twentieth larger": changed("['loss']", lambda loss: loss * 1.05),
    "output is broadcast": changed("['pair'].row", lambda row: row[:1]),
}


def verdict_on(
    subject: WorkingCopy, offend: Callable[[Any], Any], rounding: float = 0.0
) -> AccuracyVerdict:
    """As Comparison.check_accuracy judges an arm whose outputs ``offend`` changes.

    rounding: by which share the arm's weights and inputs are moved.
    """
    call = subject.workload.call
    wrong = copy.copy(subject)
    wrong.module = copy.deepcopy(subject.module)
    wrong.workload = replace(subject.workload, call=lambda *inputs: offend(call(*inputs)))
    if rounding:
        wrong.move(rounding, seed=10)
    return accuracy.assess(outputs_of(wrong), *compared_with(subject))


def outputs_of(subject: WorkingCopy) -> Observed:
    return observing.observe(subject, eager_arm(subject, dropout=False), subject.batches, 0)


@lru_cache(maxsize=1)
def compared_with(subject: WorkingCopy) -> tuple[Any, ...]:
    dtype = subject.autocast_dtype or subject.dtype
    eps = torch.finfo(dtype).eps
    wide = torch.float64
    if subject.benchmark.model == "granite_moe":  # its grouped matmul knows no float64
        wide = torch.float32
    moved = [observing.observe_reference(subject, wide, 0, eps, seed) for seed in range(4)]
    reference = observing.observe_reference(subject, wide, 0)
    return outputs_of(subject), reference, tolerances.tolerance(dtype), moved


def many_outputs(dtype: str) -> WorkingCopy:
    return working_copy(a_workload(ManyOutputs()), mode="inference", dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_right_outputs_are_judged_and_right(dtype: str) -> None:
    verdict = verdict_on(many_outputs(dtype), lambda outputs: outputs)
    assert verdict.failures == []
    assert verdict.unjudged == []
    assert list(verdict.outputs.values()) == [True] * 8


@pytest.mark.parametrize("dtype", DTYPES)
def test_rounding_elsewhere_is_no_wrong_output(dtype: str) -> None:
    eps = torch.finfo(DTYPES[dtype]).eps
    verdict = verdict_on(many_outputs(dtype), lambda outputs: outputs, rounding=eps / 2)
    assert verdict.failures == []


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("offender", OFFENDERS)
def test_offender_is_the_one_wrong_output(offender: str, dtype: str) -> None:
    verdict = verdict_on(many_outputs(dtype), OFFENDERS[offender])
    assert [is_right for is_right in verdict.outputs.values() if not is_right] == [False]


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", ON_ONE_DEVICE, ids=lambda benchmark: str(benchmark.name))
def test_registry_has_no_false_alarm_and_no_offender_passes(benchmark: Benchmark) -> None:
    workload = load(benchmark)

    def call(module: nn.Module, batch: Inputs) -> Outputs:
        return many_outputs_of(workload.output(workload.call(module, batch)))

    subject = WorkingCopy(benchmark, replace(workload, call=call, output=first_tensor), "cpu", 0)
    subject.training = False
    eps = torch.finfo(subject.autocast_dtype or subject.dtype).eps
    assert verdict_on(subject, lambda outputs: outputs).failures == []
    assert verdict_on(subject, lambda outputs: outputs, rounding=eps / 2).failures == []
    for offender, offend in OFFENDERS.items():
        assert verdict_on(subject, offend).failures, offender


class Spectral(nn.Module):
    """Weights and outputs are complex; nothing else is."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4, WIDTH // 2 + 1, dtype=torch.complex64))
        self.register_buffer("turn", torch.polar(torch.ones(17), torch.arange(17.0)))

    def forward(self, x: Tensor) -> Tensor:
        spectrum: Tensor = torch.fft.rfft(x).unsqueeze(1) * self.weight * self.turn
        return spectrum


def test_drawn_complex_inputs_have_imaginary_parts() -> None:
    with own_draws("inputs"):
        drawn = torch.randn(4, dtype=torch.complex64)
    assert bool(drawn.imag.any())


@pytest.mark.parametrize("form", [Tensor.to_sparse, lambda t: t.to(torch.float8_e4m3fn)])
def test_output_of_another_form_is_judged(form: Callable[[Tensor], Tensor]) -> None:
    class Formed(nn.Linear):
        def forward(self, x: Tensor) -> Any:
            y = super().forward(x)
            return y, form(torch.relu(y))

    subject = working_copy(a_workload(Formed(WIDTH, WIDTH)), mode="inference")
    assert verdict_on(subject, lambda outputs: outputs).outputs == {
        "outputs": True,
        "outputs[1]": True,
    }


class Tokens(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = a_module(1)

    def forward(self, x: Tensor) -> Tensor:
        ids: Tensor = self.inner(x).argmax(-1)
        return ids


@pytest.mark.parametrize(("module", "wrong"), [(Spectral, torch.conj), (Tokens, lambda t: t ^ 1)])
def test_model_without_floats_is_judged(
    module: type[nn.Module], wrong: Callable[[Tensor], Tensor]
) -> None:
    subject = working_copy(a_workload(module()), mode="inference")
    assert verdict_on(subject, lambda output: output).outputs == {"outputs": True}
    assert verdict_on(subject, wrong).outputs == {"outputs": False}


def test_complex_weights_and_buffers_keep_their_imaginary_parts() -> None:
    subject = working_copy(a_workload(Spectral()), mode="inference")
    wide = subject.widened(torch.float64)
    assert all(bool(tensor.imag.any()) for tensor in subject.module.state_dict().values())
    assert {tensor.dtype for tensor in wide.module.state_dict().values()} == {torch.complex128}


def test_ties_that_rounding_decides_are_not_judged() -> None:
    reference, tied = Observed(torch.tensor([3])), Observed(torch.tensor([5]))
    verdict = accuracy.assess(tied, reference, reference, tolerances.tolerance(torch.bfloat16))
    assert verdict.failures
    moved = [reference, tied]
    verdict = accuracy.assess(
        tied, reference, reference, tolerances.tolerance(torch.bfloat16), moved
    )
    assert verdict.failures == []
    assert verdict.unjudged == ["outputs: rounding decides most of it"]


def test_wrong_second_output_is_named_next_to_a_right_first_one() -> None:
    reference = Observed(torch.ones(4), others={"[1]": torch.arange(4)})
    wrong = Observed(torch.ones(4), others={"[1]": torch.zeros(4, dtype=torch.int64)})
    verdict = accuracy.assess(wrong, reference, reference, tolerances.tolerance(torch.float32))
    assert verdict.outputs == {"outputs": True, "outputs[1]": False}
    assert verdict.failures == ["outputs[1]: 0.75, eager 0, allowed 0"]
    assert verdict.may_be_rounding


def test_wrong_first_output_of_floats_is_no_matter_of_rounding() -> None:
    reference, wrong = Observed(torch.ones(4)), Observed(torch.zeros(4))
    verdict = accuracy.assess(wrong, reference, reference, tolerances.tolerance(torch.float32))
    assert not verdict.may_be_rounding


def test_other_strides_are_said_and_no_failure() -> None:
    reference = Observed(torch.ones(4, 3))
    turned = Observed(torch.ones(3, 4).T)
    verdict = accuracy.assess(turned, reference, reference, tolerances.tolerance(torch.float32))
    assert verdict.failures == []
    assert verdict.strides == ["outputs: (1, 4), eager's (3, 1)"]


@pytest.mark.parametrize("nothing", [None, (), {"count": 3}, torch.empty(0, 4)])
def test_output_without_numbers_is_not_judged(nothing: Any) -> None:
    observed = Observed(first_tensor(nothing))
    verdict = accuracy.assess(observed, observed, observed, tolerances.tolerance(torch.float32))
    assert verdict.unjudged == ["outputs: the module returned no numbers"]


def test_floats_come_before_complex_numbers_and_integers() -> None:
    ids, spectrum, logits = torch.arange(3), torch.ones(2) * 1j, torch.ones(2)
    assert first_tensor((ids, {"a": spectrum}, [logits])) is logits
    assert first_tensor((ids, spectrum)) is spectrum
    assert [path for path, _ in tensors_of((ids, {"a": spectrum}))] == ["[0]", "[1]['a']"]
