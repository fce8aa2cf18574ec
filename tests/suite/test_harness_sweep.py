"""The walk through shapes says which of them was compiled again, and what that cost."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks_suite.configs import CONFIGS
from benchmarks_suite.harness import (
    absence,
    compiling,
    report,
    shapes,
    start,
    sweep,
    torch_versions,
)
from benchmarks_suite.harness.job import Job, parse
from benchmarks_suite.harness.result import Result
from benchmarks_suite.harness.sweep import CompilerState, Visit
from benchmarks_suite.harness.timing import Stopwatch
from benchmarks_suite.workload import Inputs
from tests.builders.measured_jobs import MLP
from tests.builders.workloads import working_copy

TEXT = {"ids": ("batch", "length")}
NOTHING = CompilerState(graphs=1, compile_s=1.0, reasons=[])
A_RECOMPILE = CompilerState(graphs=2, compile_s=1.5, reasons=["size mismatch"])


def text(batch: int = 8, length: int = 64) -> Inputs:
    return {"ids": torch.arange(batch * length).view(batch, length), "scale": torch.ones(3)}


def visit(*steps_ms: float, after: CompilerState = NOTHING, is_first: bool = False) -> Visit:
    return Visit("batch 8", is_first, list(steps_ms), NOTHING, after, host_mb=0.0)


def walked(config: str, *walk: shapes.Shares) -> list[dict[str, Any]]:
    """The shapes of a walk with a real dynamo, and a backend that takes no time."""
    torch._dynamo.reset()
    torch_versions.import_compiler("eager")
    subject = working_copy(mode="inference")
    arm = compiling.compiled_arm(subject, dataclasses.replace(CONFIGS[config], backend="eager"))
    first_ms, _ = Stopwatch(subject.device, subject.batches).time(arm, 1)
    findings = sweep.walk(subject, arm, walk, first_ms)
    document: list[dict[str, Any]] = findings["sweep"]["shapes"]
    return document


def test_batch_is_cut_along_its_axes_only() -> None:
    batch = shapes.cut(text(), TEXT, {"batch": 2, "length": 5})
    assert batch["ids"].tolist() == [[0, 1, 2, 3, 4], [64, 65, 66, 67, 68]]
    assert batch["ids"].is_contiguous()
    assert batch["scale"].shape == (3,)


def test_shares_are_of_the_benchmarks_own_sizes() -> None:
    (shape,) = shapes.walk_sizes(text(), TEXT, [(0.25, 0.5)])
    assert shapes.label(shape) == "batch 2, length 32"


def test_share_of_nothing_is_a_single_sequence() -> None:
    (shape,) = shapes.walk_sizes(text(), TEXT, [(0, 1)])
    assert shape == {"batch": 1, "length": 64}


def test_model_without_a_length_skips_shapes_that_differ_in_it_alone() -> None:
    axes = {"ids": ("batch",)}
    batches = shapes.walk(
        text(),
        axes,
        [
            (1, 1),
            (1, 0.5),
            (0.5, 0.5),
            (1, 1),
        ],
    )
    assert [len(batch["ids"]) for batch in batches] == [8, 4, 8]


def test_second_size_is_compiled_again_and_the_third_is_not() -> None:
    first, second, third, back = walked("inductor_sweep", (1, 1), (0.5, 1), (0.25, 1), (1, 1))
    assert first["graphs"] >= 1
    assert second["recompiles"] == 1
    assert "size mismatch" in second["reasons"][0]
    assert second["first_ms"] > second["later_ms"]
    assert third["recompiles"] == 0
    assert back["recompiles"] == 0


def test_dynamic_sizes_are_not_compiled_again() -> None:
    documents = walked("inductor_dynamic_sweep", (1, 1), (0.5, 1), (0.25, 1))
    assert [document["recompiles"] for document in documents[1:]] == [0, 0]


def test_time_lost_is_what_the_slow_step_took_longer_than_later_ones() -> None:
    assert visit(500, 10, 10, 11, after=A_RECOMPILE).lost_ms == 490


def test_slow_step_without_a_compilation_is_slow_but_no_time_lost() -> None:
    disturbed = visit(10, 10, 35, 10)
    assert disturbed.slow == [False, False, True, False]
    assert disturbed.lost_ms == 0


def test_cold_start_counts_neither_as_slow_nor_as_lost() -> None:
    cold = visit(9000, 10, 10, 10, after=A_RECOMPILE, is_first=True)
    assert not any(cold.slow)
    assert cold.lost_ms == 0


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> Job:
    """The walk of the real config on the MLP, without the time that Inductor takes."""
    config = dataclasses.replace(CONFIGS["inductor_sweep"], name="dynamo_sweep", backend="eager")
    monkeypatch.setitem(CONFIGS, config.name, config)
    return parse(
        {
            "schema": "job.v1",
            "job_id": "test",
            "attempt": 1,
            "benchmark": MLP,
            "config": config.name,
        }
    )


def test_cold_start_of_a_sweep_makes_its_section_and_metrics(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch._dynamo.reset()
    for cache in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
        monkeypatch.setenv(cache, str(tmp_path))
    answer = start.measure(job, {"kind": "cold"})
    result = Result(job)
    report.start(result, "cold", {"status": "pass", **answer})
    labels = [shape["label"] for shape in result.sections["sweep"]["shapes"]]
    assert labels == ["batch 64", "batch 32", "batch 48", "batch 16", "batch 1", "batch 64"]
    assert len(answer["steps_ms"]) == len(labels) * sweep.STEPS
    assert result.metrics["sweep_recompiles"]["value"] >= 1
    assert result.metrics["sweep_recompile_s"]["value"] > 0
    assert 0 < result.metrics["sweep_slow_percent"]["value"] < 50
    assert "sweep" not in result.sections["starts"]["cold"]


def test_walk_leaves_latency_to_the_config_without_one(job: Job) -> None:
    reason = absence.reasons(job, Result(job))["latency_ms"]
    assert "the same config without one does" in reason


def test_sweep_without_a_cold_start_says_why_it_has_no_numbers(job: Job) -> None:
    of_no_start = dataclasses.replace(job.measure, starts=())
    without = dataclasses.replace(job, measure=of_no_start)
    reason = absence.reasons(without, Result(without))["sweep_recompiles"]
    assert "the walk is the cold start's" in reason


@pytest.mark.parametrize("name", ["inductor_sweep", "inductor_dynamic_sweep"])
def test_walk_of_a_config_ends_at_the_shape_that_it_began_with(name: str) -> None:
    walk = CONFIGS[name].sweep
    assert walk[0] == walk[-1] == (1, 1)
