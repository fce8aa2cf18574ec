"""What the accuracy rule says of the suite's small training cases, right and wrong on purpose.

    python -m tests.perf.accuracy_rule [--backend aot_eager] [--only TEXT]

Of each case one line: whether a right compiler passes, eager's own distance and the compiled arm's
(of the optimizer's step, the worst row and the buffers), and which wrong arms pass the rule:

    never steps     the optimizer does nothing
    half the rate   it steps half as far
    zero row        one row of the output is 0
    dropout off     where the model drops: the compiled arm never does

On a busy machine a line takes seconds with aot_eager, minutes with inductor.
"""

from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from benchmarks_suite.benchmark import Benchmark
from benchmarks_suite.harness import accuracy, dropout, observing
from benchmarks_suite.harness.accuracy import AccuracyVerdict
from benchmarks_suite.harness.arms import Arm, arm_around, eager_arm, new_optimizer
from benchmarks_suite.harness.observing import Observed
from benchmarks_suite.harness.working_copies import WorkingCopy
from benchmarks_suite.loading import load
from benchmarks_suite.registry import SUITE

STEPS = 5
SHOWN = ("optimizer_step", "worst_row", "buffers")


def cases(text: str) -> list[Benchmark]:
    """The small training cases that need one process and no GPU."""
    of_size = [each for each in SUITE.values() if each.size == "smoke"]
    training = [each for each in of_size if each.mode == "training" and text in each.name]
    return [each for each in training if each.family != "distributed" and "triton" not in each.name]


class Subject:
    """One case with what eager and the reference computed."""

    def __init__(self, benchmark: Benchmark, backend: str) -> None:
        self.copy = WorkingCopy(benchmark, load(benchmark), "cpu", seed=0)
        self.eager = self.observe(eager_arm(self.copy, dropout=False))
        self.reference = self._reference()
        self._backend = backend

    def _reference(self) -> Observed:
        """In float32 where an operator knows no float64."""
        try:
            return observing.observe_reference(self.copy, torch.float64, STEPS)
        except RuntimeError:
            return observing.observe_reference(self.copy, torch.float32, STEPS)

    def observe(self, arm: Arm) -> Observed:
        return observing.observe(self.copy, arm, self.copy.batches, STEPS)

    def compiled(
        self, step: Callable[[torch.optim.Optimizer], Any] | None = None, drops: bool = False
    ) -> Arm:
        """step: what a training step ends with instead of the optimizer's own."""
        torch._dynamo.reset()
        module = self.copy.twin(dropout=drops)
        optimizer = new_optimizer(self.copy, module)
        assert optimizer is not None
        own_step = None if step is None else lambda: step(optimizer)
        called = torch.compile(module, backend=self._backend)
        return arm_around("compiled", self.copy, module, called, optimizer, own_step)

    def assess(self, observed: Observed) -> AccuracyVerdict:
        rule = accuracy.tolerance(self.copy.autocast_dtype or self.copy.dtype)
        return accuracy.assess(observed, self.eager, self.reference, rule)


def half_the_rate(optimizer: torch.optim.Optimizer) -> None:
    rate = optimizer.param_groups[0]["lr"]
    optimizer.param_groups[0]["lr"] = rate / 2
    optimizer.step()
    optimizer.param_groups[0]["lr"] = rate


def with_zero_row(observed: Observed) -> Observed:
    assert observed.output is not None
    output = observed.output.clone()
    output.flatten(0, -2)[-1] = 0
    return replace(observed, output=output)


def line(benchmark: Benchmark, backend: str) -> str:
    subject = Subject(benchmark, backend)
    right = subject.observe(subject.compiled())
    verdict = subject.assess(right)
    wrong: Mapping[str, Observed] = {
        "never steps": subject.observe(subject.compiled(lambda optimizer: None)),
        "half the rate": subject.observe(subject.compiled(half_the_rate)),
        "zero row": with_zero_row(right),
    }
    escaped = [name for name, observed in wrong.items() if not subject.assess(observed).failures]
    parts = [benchmark.name, "pass" if not verdict.failures else str(verdict.failures)]
    if subject.copy.has_dropout:
        parts.append(_dropout(subject, verdict, escaped))
    for name in SHOWN:
        distances = verdict.tensors.get(name)
        if distances:
            eager, own = distances["eager_relative_l2"], distances["relative_l2"]
            judged = "" if distances.get("judged", True) else " not judged"
            parts.append(f"{name} {eager:.2g} → {own:.2g}{judged}")
    return "; ".join([*parts, f"escaped: {', '.join(escaped) or 'none'}"])


def _dropout(subject: Subject, verdict: AccuracyVerdict, escaped: list[str]) -> str:
    outputs = verdict.tensors["outputs"]
    drift = max(outputs["relative_l2"], outputs["eager_relative_l2"])
    batch, eager = subject.copy.batches[0], eager_arm(subject.copy)
    details, failure = dropout.compare(
        subject.copy, eager, subject.compiled(drops=True), batch, drift
    )
    _, off = dropout.compare(subject.copy, eager, subject.compiled(), batch, drift)
    if not off:
        escaped.append("dropout off")
    spreads = f"{details['eager_spread']:.3g} → {details['spread']:.3g}"
    return f"dropout {failure or 'alike'} ({spreads})"


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="aot_eager")
    parser.add_argument("--only", default="", help="cases whose name contains this text")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for benchmark in cases(options.only):
        try:
            print(line(benchmark, options.backend), flush=True)
        except Exception as error:
            print(f"{benchmark.name}: {type(error).__name__}: {str(error)[:200]}", flush=True)


if __name__ == "__main__":
    main()
