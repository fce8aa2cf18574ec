"""The distributed workloads, run by torchrun in two processes over gloo."""

import json
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import distribute_tensor

from benchmarks_suite.harness import job as jobs
from benchmarks_suite.harness import ranks as several
from benchmarks_suite.harness.arms import Arm, restored_state
from benchmarks_suite.harness.result import Result
from benchmarks_suite.loading import load
from benchmarks_suite.models._distributed import data_parallel
from benchmarks_suite.registry import BENCHMARKS
from benchmarks_suite.workload import Unsupported

ROOT = Path(__file__).parents[2]
DISTRIBUTED = [line for line in BENCHMARKS.values() if line.family == "distributed"]
SMOKE = {
    line.model: line for line in DISTRIBUTED if line.size == "smoke" and line.mode == "training"
}


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    """What two ranks with different batches print of one training step of each workload."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    logs = f"--log-dir={tmp_path_factory.mktemp('torchrun')}"
    names = [benchmark.name for benchmark in SMOKE.values()]
    command = [*torchrun, logs, "-m", "tests.suite.one_rank", *names]
    output = subprocess.check_output(command, text=True, timeout=500, cwd=ROOT)
    lines = [line for line in output.splitlines() if "model=" in line]
    return [dict(field.split("=") for field in line.split()) for line in lines]


@pytest.mark.parametrize("model", SMOKE)
def test_two_ranks_with_different_batches_get_the_same_gradients(
    model: str, ranks: list[dict[str, str]]
) -> None:
    first, second = (rank for rank in ranks if rank["model"] == model)
    assert first["gradients"] == second["gradients"]


@pytest.mark.parametrize("model", SMOKE)
def test_ddp_keeps_all_parameters_on_each_rank_and_fsdp_a_part(
    model: str, ranks: list[dict[str, str]]
) -> None:
    count = sum(parameter.numel() for parameter in load(SMOKE[model]).module.parameters())
    on_each = [int(rank["parameters"]) for rank in ranks if rank["model"] == model]
    if model.startswith("ddp"):
        assert on_each == [count, count]
    else:
        assert sum(on_each) == count


def test_state_of_an_arm_whose_weights_are_spread_is_restored(tmp_path: Path) -> None:
    """From torch 2.13 on, the parts of such a tensor have its device mesh among them."""
    dist.init_process_group("gloo", f"file://{tmp_path}/ranks", rank=0, world_size=1)
    try:
        module = nn.Linear(4, 2, bias=False)
        spread = distribute_tensor(module.weight.detach(), init_device_mesh("cpu", (1,)))
        module.weight = nn.Parameter(spread)
        arm = Arm("eager", module, step=module, forward=module, forget=lambda: None)
        with restored_state(arm) as copied_bytes:
            assert copied_bytes == 4 * 2 * 4
    finally:
        dist.destroy_process_group()


def test_distributed_workload_alone_in_its_process_is_unsupported() -> None:
    workload = load(BENCHMARKS["ddp_mlp.smoke.training.float32.static.b64"])
    with pytest.raises(Unsupported, match="torchrun"):
        data_parallel(workload.module)


def test_no_rank_outlives_the_torchrun_that_was_killed(tmp_path: Path) -> None:
    document = {
        "schema": "job.v1",
        "job_id": "test",
        "attempt": 1,
        "benchmark": SMOKE["ddp_mlp"].name,
        "config": "dynamo_only",
        "measure": {"budget_s": 3600, "target_percent": 1e-9, "starts": []},  # endless
    }
    job = jobs.parse(document)
    spec, answer, log = tmp_path / "spec.json", tmp_path / "answer.json", tmp_path / "log"
    start = {
        "job": job.document,
        "cold": {"status": "pass"},
        "found": Result(job).contents(),
    }
    spec.write_text(json.dumps(start))
    command = several.command(job, "benchmarks_suite.harness.rank", str(spec), str(answer))
    with log.open("w") as stderr, subprocess.Popen(command, cwd=ROOT, stderr=stderr) as torchrun:
        while "phase: sampling" not in log.read_text():
            time.sleep(0.2)
        ranks = psutil.Process(torchrun.pid).children()
        torchrun.kill()
    assert len(ranks) == several.RANKS_ON_CPU
    _, alive = psutil.wait_procs(ranks, timeout=20)
    assert not alive
