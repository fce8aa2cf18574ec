"""Small models of the field take a step: the checks, and a process of its own for timm's and
torchvision's, whose packages no other test sees.

  python -m tests.builders.field_steps LIBRARY...     a JSON object: benchmark -> what went wrong
  python -m tests.builders.field_steps --model MODEL...
  python -m tests.builders.field_steps --compiled MODEL...
"""

import json
import sys
import traceback
from collections.abc import Callable, Iterable
from typing import Any

import torch

from benchmarks_suite.benchmark import Benchmark
from benchmarks_suite.harness.generator import fill_weights, own_draws
from benchmarks_suite.loading import load
from benchmarks_suite.registry import FIELD
from benchmarks_suite.workload import Inputs, Unsupported, Workload

SMOKE = [benchmark for benchmark in FIELD.values() if benchmark.size == "smoke"]


def workload_of(benchmark: Benchmark) -> tuple[Workload, Inputs]:
    """With weights, without dropout, and its first batch. Raises Unsupported."""
    workload = load(benchmark)
    fill_weights(workload.module, seed=0)
    workload.module.train(benchmark.mode == "training")
    with own_draws(0):
        return workload, workload.inputs(0, torch.Generator())


def take_step(benchmark: Benchmark) -> None:
    workload, batch = workload_of(benchmark)
    is_training = benchmark.mode == "training"
    with torch.set_grad_enabled(is_training):
        result = workload.call(workload.module, batch)
    if is_training:
        _assert_trains(workload, result, batch)
    else:
        assert workload.output(result).isfinite().all()
        assert workload.output(result).float().std() > 0


def take_compiled_step(benchmark: Benchmark) -> None:
    """Its outputs are eager's."""
    workload, batch = workload_of(benchmark)
    with torch.no_grad():
        eager = workload.output(workload.call(workload.module, batch))
        workload.module.compile()
        compiled = workload.output(workload.call(workload.module, batch))
    torch.testing.assert_close(compiled, eager, atol=1e-3, rtol=1e-3)


def _assert_trains(workload: Workload, result: Any, batch: Inputs) -> None:
    assert workload.loss is not None
    workload.loss(result, batch).backward()
    gradients = [parameter.grad for parameter in workload.module.parameters()]
    present = [gradient for gradient in gradients if gradient is not None]
    assert len(present) > len(gradients) / 2
    assert all(gradient.isfinite().all() for gradient in present)


def _problems(benchmarks: Iterable[Benchmark], step: Callable[[Benchmark], None]) -> dict[str, str]:
    """Collect what went wrong, by benchmark; empty text where nothing did."""
    problems = {}
    for benchmark in benchmarks:
        problem = ""
        try:
            step(benchmark)
        except Unsupported as reason:
            problem = str(reason)
        except Exception:
            problem = traceback.format_exc()
        problems[benchmark.name] = problem
    return problems


def main(arguments: list[str]) -> None:
    step = take_step
    selected = [each for each in SMOKE if each.library in arguments]
    if arguments[0] == "--model":
        selected = [each for each in SMOKE if each.model in arguments]
    if arguments[0] == "--compiled":
        step = take_compiled_step
        selected = [each for each in SMOKE if each.model in arguments and each.mode == "inference"]
    sys.stdout.write(json.dumps(_problems(selected, step)))


if __name__ == "__main__":
    main(sys.argv[1:])
