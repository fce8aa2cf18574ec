"""The first block that leaves the accuracy rule is named."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, fx, nn

from benchmarks_suite.__main__ import main
from benchmarks_suite.configs import Config
from benchmarks_suite.harness import block_drift
from benchmarks_suite.harness.working_copies import WorkingCopy
from benchmarks_suite.workload import Unsupported
from tests.builders.workloads import WIDTH, a_workload, working_copy


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.linear(x).relu() + x
        return output


class Odd(Plain):
    """The only block that calls tanh."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.linear(x)) + x


@torch._dynamo.register_backend(name="wrong_tanh")
def wrong_tanh(graph: fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
    """Computes tanh a thousandth too large."""
    for node in graph.graph.nodes:
        if "tanh" in str(node.target):
            with graph.graph.inserting_after(node):
                wrong = graph.graph.call_function(torch.mul, (node, 1.001))
            node.replace_all_uses_with(
                wrong, delete_user_cb=lambda user, own=wrong: user is not own
            )
    graph.recompile()
    return graph.forward


def config(backend: str) -> Config:
    return Config("test", "", "", backend=backend)


def subject(mode: str) -> WorkingCopy:
    torch._dynamo.reset()
    module = nn.Sequential(Plain(), Plain(), Odd(), Plain())
    return working_copy(a_workload(module, blocks=(Plain,)), mode=mode)


@pytest.mark.parametrize("mode", ["inference", "training"])
def test_first_wrong_block_is_the_first_that_leaves_the_rule(mode: str) -> None:
    drifts = block_drift.of_blocks(subject(mode), config("wrong_tanh"), torch.float64)
    outputs = [each for each in drifts if each.what == "output"]
    assert [each.name for each in outputs] == ["0", "1", "2", "3"]
    assert [each.leaves_rule for each in outputs] == [False, False, True, True]


def test_gradients_are_listed_from_the_last_block_to_the_first() -> None:
    drifts = block_drift.of_blocks(subject("training"), config("wrong_tanh"), torch.float64)
    gradients = [each.name for each in drifts if each.what == "gradient"]
    assert gradients == ["3", "2", "1", "0"]


def test_no_block_of_a_right_compiler_leaves_the_rule() -> None:
    drifts = block_drift.of_blocks(subject("training"), config("eager"), torch.float64)
    assert len(drifts) == 8
    assert not any(each.leaves_rule for each in drifts)


def test_model_without_blocks_is_unsupported() -> None:
    without = working_copy(a_workload(blocks=()))
    with pytest.raises(Unsupported, match="names no repeated blocks"):
        block_drift.of_blocks(without, config("eager"), torch.float64)


def test_command_lists_blocks_and_names_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    case = ["--benchmark", "gpt2.smoke.training.float32.static.b2", "--config", "aot_eager"]
    assert main(["blame", *case]) == 0
    shown = capsys.readouterr().out
    assert "transformer.h.0" in shown
    assert shown.endswith("No block leaves the rule when each is compiled by itself.\n")
