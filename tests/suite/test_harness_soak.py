"""A leak is found by the soak, and a clean model has none."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from benchmarks_suite.harness import absence, memory, soak
from benchmarks_suite.harness.arms import Arm
from benchmarks_suite.harness.job import parse
from benchmarks_suite.harness.result import Result
from benchmarks_suite.harness.soak import PARTS, Soak
from benchmarks_suite.harness.timing import Stopwatch
from tests.builders.measured_jobs import MLP, run
from tests.builders.tiny_suite import name_of


def soaked(step: Any, steps: int = 200, batches: int = 1) -> Soak:
    """A soak of this step, with the process's own memory."""
    arm = Arm("eager", nn.Identity(), step, None, lambda: None)
    inputs = [{"x": torch.ones(8)} for _ in range(batches)]
    stopwatch = Stopwatch(torch.device("cpu"), inputs)
    return soak.soak(stopwatch, arm, batches, steps, memory.host_gb)


def parts(*megabytes: float) -> Soak:
    return Soak(warm_up_steps=100, part_steps=50, parts_mb=list(megabytes))


def test_leak_is_found_with_its_size() -> None:
    kept: list[torch.Tensor] = []
    growth = soaked(lambda _: kept.append(torch.ones(25_000))).growth()  # 100 kB
    assert growth.low > 0
    assert growth.value == pytest.approx(10, rel=0.2)


def test_clean_step_does_not_grow() -> None:
    growth = soaked(lambda batch: batch["x"] * 2).growth()
    assert growth.low <= 0
    assert abs(growth.value) < 0.5


def test_steps_are_whole_passes_over_the_batches() -> None:
    counted: list[Any] = []
    measured = soaked(counted.append, steps=200, batches=16)
    assert measured.part_steps % 16 == 0
    assert len(counted) == measured.document()["steps"]


def test_growth_is_per_hundred_steps() -> None:
    growth = parts(*(float(part) for part in range(PARTS))).growth()  # 1 MB in 50 steps
    assert growth.value == growth.low == growth.high == 2
    assert growth.n == PARTS - 1


def test_buffer_that_is_made_once_is_no_growth() -> None:
    growth = parts(*[10.0] * 5, *[90.0] * 5).growth()
    assert growth.value == growth.low == growth.high == 0


def test_growth_in_half_of_the_parts_is_not_shown_but_bounded() -> None:
    growth = parts(0, 1, 1, 2, 2, 3, 3, 4, 4, 5).growth()
    assert growth.low == 0
    assert growth.high == 2


def test_job_with_a_leak_says_that_memory_grows(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        "tests.builders.tiny_suite",
        benchmark=name_of("leaks"),
        config="eager",
        measure={"soak_steps": 400},
    )
    assert result["status"] == "pass"
    assert result["soak"]["steps"] == 400
    assert result["metrics"]["memory_growth_mb"]["low"] > 1  # 1.6 MB in 100 steps


def test_job_that_asks_for_no_soak_says_so() -> None:
    job = parse(
        {
            "schema": "job.v1",
            "job_id": "x",
            "attempt": 1,
            "benchmark": MLP,
            "config": "eager",
        }
    )
    reason = absence.reasons(job, Result(job))["memory_growth_mb"]
    assert reason == "no soak was asked for (measure.soak_steps)"
