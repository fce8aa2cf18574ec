"""What surrounds compiled graphs: what a call costs, and which operators run outside of them."""

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._dynamo import eval_frame

from benchmarks_suite.harness import compiled_calls
from benchmarks_suite.harness.arms import Arm
from benchmarks_suite.harness.compiled_calls import Event, NotObserved, by_step
from benchmarks_suite.harness.job import parse
from tests.builders.measured_jobs import MLP

JOB = parse(
    {
        "schema": "job.v1",
        "job_id": "by-hand",
        "attempt": 1,
        "benchmark": MLP,
        "config": "dynamo_only",
    }
)
STEP, CALL, GRAPH = "compilewatch: step", "compilewatch: call", "compilewatch: graph"
LOOKUP = "TorchDynamo Cache Lookup"
BATCH = {"x": torch.ones(4, 4)}


def overheads(*events: tuple[str, float, float]) -> list[float]:
    steps = by_step(Event(name, start, start + length) for name, start, length in events)
    return [step.overhead_us for step in steps]


def test_overhead_is_from_the_call_until_the_graph() -> None:
    assert overheads((STEP, 0, 90), (CALL, 5, 0), (LOOKUP, 9, 6), (GRAPH, 20, 50)) == [15]


def test_what_follows_a_break_has_an_overhead_from_its_look_up() -> None:
    broken = (
        (CALL, 5, 0),
        (LOOKUP, 9, 6),
        (GRAPH, 20, 10),
        ("aten::item", 40, 5),
        (LOOKUP, 50, 3),
        (GRAPH, 54, 10),
    )
    assert overheads((STEP, 0, 90), *broken) == [15 + 4]


def test_a_call_without_a_look_up_has_no_overhead() -> None:
    assert overheads((STEP, 0, 90), (CALL, 5, 0), ("aten::add", 30, 10)) == [0]


def test_marks_within_a_graph_do_not_count() -> None:
    inside = ((CALL, 22, 0), (LOOKUP, 24, 2), ("aten::add", 30, 10))
    whole = ((CALL, 5, 0), (LOOKUP, 9, 6), (GRAPH, 20, 50), *inside)
    assert overheads((STEP, 0, 90), *whole) == [15]


def test_each_step_has_its_own_overhead() -> None:
    first = ((STEP, 0, 40), (LOOKUP, 9, 6), (GRAPH, 20, 10))
    assert overheads(*first, (STEP, 50, 40), (LOOKUP, 60, 2), (GRAPH, 63, 10)) == [11, 3]


def test_operators_within_others_are_not_counted_again() -> None:
    events = [
        Event("aten::linear", 0, 10),
        Event("aten::addmm", 1, 9),
        Event("autograd::engine::evaluate_function: AddmmBackward0", 12, 30),
        Event("aten::mm", 13, 20),
    ]
    assert compiled_calls.outermost_operators(events) == {"aten::linear": 1, "aten::mm": 1}


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))
        self.norm = nn.LayerNorm(4)

    def forward(self, x: Tensor) -> Tensor:
        normed: Tensor = self.norm(x * self.scale)
        return normed


class Broken(nn.Module):
    """The break leaves ``sum``, ``item`` and what compares it in eager."""

    def forward(self, x: Tensor) -> Tensor:
        x = (x + 1).relu()
        if x.sum().item() > 0:
            return (x * 2).relu()
        return x


@pytest.fixture(autouse=True)
def _fresh_dynamo() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def arm(forward: Any) -> Arm:
    def step(batch: Any) -> Any:
        with torch.no_grad():
            return forward(batch["x"])

    return Arm("compiled", nn.Identity(), step, step, lambda: None)


def compiled(module: nn.Module) -> Arm:
    of_module = arm(torch.compile(module, backend="eager"))
    of_module.step(BATCH)
    return of_module


def observed(module: nn.Module) -> list[compiled_calls.StepCalls]:
    return compiled_calls.of_steps(compiled(module), [BATCH], 5)


def fastest(module: nn.Module) -> compiled_calls.StepCalls:
    """The fastest of many steps, apart in time: whatever else the machine does."""
    of_module, steps = compiled(module), []
    for _ in range(4):
        steps += compiled_calls.of_steps(of_module, [BATCH], 20)
        time.sleep(0.05)
    return min(steps, key=lambda step: step.lookup_us)


def test_more_guards_cost_more() -> None:
    """As where torch checks more of a model than before: pytorch issue 185886."""
    few, many = fastest(Block()), fastest(nn.Sequential(*[Block() for _ in range(12)]))
    assert many.lookup_us > 2 * few.lookup_us
    assert many.overhead_us > few.overhead_us


def test_each_region_of_a_step_counts() -> None:
    module = nn.Sequential(Block(), Block(), Block())
    for block in module:
        block.forward = torch.compile(block.forward, backend="eager")
    regional = arm(module)
    regional.step(BATCH)
    calls = compiled_calls.of_steps(regional, [BATCH], 5)
    assert [(step.graphs, step.lookups) for step in calls] == [(3, 3)] * 5
    assert all(step.overhead_us > step.lookup_us for step in calls)


def test_observing_leaves_torch_as_it_was() -> None:
    set_eval_frame: Any = getattr(eval_frame, "set_eval_frame")  # noqa: B009 - not exported
    observed(Block())
    assert getattr(eval_frame, "set_eval_frame") is set_eval_frame  # noqa: B009
    assert not [graph for _, _, graph in compiled_calls._graphs() if graph.__name__ == "call"]


def test_eager_code_has_no_overhead() -> None:
    with pytest.raises(NotObserved, match="no compiled graph"):
        compiled_calls.of_steps(arm(Block()), [BATCH], 2)


def test_a_new_compilation_makes_the_calls_unobservable() -> None:
    another = {"x": torch.ones(4, 4, dtype=torch.float64)}
    with pytest.raises(NotObserved, match="compiled again"):
        compiled_calls.of_steps(compiled(nn.ReLU()), [BATCH, another], 2)


def test_operators_outside_of_graphs_are_those_between_breaks() -> None:
    module = Broken()
    eager, outside = compiled_calls.operators(JOB, arm(module), compiled(module), [BATCH])
    assert eager.total() == 6
    assert outside == {"aten::item": 1}


def test_whole_steps_have_no_forward_pass_to_count() -> None:
    whole = Arm("compiled", nn.Identity(), lambda batch: batch, None, lambda: None)
    with pytest.raises(NotObserved, match="cannot be seen apart"):
        compiled_calls.operators(JOB, arm(Block()), whole, [BATCH])


def test_exported_packages_and_old_releases_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    package: Any = SimpleNamespace(config=SimpleNamespace(compiles=True, target="aot_inductor"))
    with pytest.raises(NotObserved, match="exported"):
        compiled_calls.check(package)
    monkeypatch.setattr(torch, "__version__", "2.4.1")
    with pytest.raises(NotObserved, match=r"needs torch 2\.5"):
        compiled_calls.check(JOB)
