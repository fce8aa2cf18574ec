"""The machine's own rates: a job tells and keeps them, and the jobs after it tell which share they reach."""

from pathlib import Path

import pytest
import torch

from benchmarks_suite.harness import ceilings
from benchmarks_suite.harness.statistics import Interval
from tests.builders.measured_jobs import MLP, run

CEILINGS = "ceilings.smoke.inference.float32.static.b512"


@pytest.fixture
def own_cache(tmp_path: Path) -> dict[str, str]:
    return {"COMPILEWATCH_CACHE": str(tmp_path / "cache")}


def test_a_job_tells_the_machines_rates_and_the_next_one_its_share_of_them(
    tmp_path: Path, own_cache: dict[str, str]
) -> None:
    canary = run(tmp_path, "benchmarks_suite", benchmark=CEILINGS, config="eager", environment=own_cache)["metrics"]
    assert canary["matmul_ceiling_tflops"]["low"] <= canary["matmul_ceiling_tflops"]["value"]
    assert canary["bandwidth_ceiling_gb_s"]["value"] > 0
    after = run(tmp_path, "benchmarks_suite", benchmark=MLP, config="eager", environment=own_cache)["metrics"]
    assert after["matmul_share_percent"]["value"] > 0


def test_of_two_measurements_the_better_rate_is_the_ceiling(
    own_cache: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPILEWATCH_CACHE", own_cache["COMPILEWATCH_CACHE"])
    device = torch.device("cpu")
    for copy, matmul in ((9.0, 0.2), (7.0, 0.3)):
        found = {"copy": Interval(copy, copy, copy, 1), "matmul.float32": Interval(matmul, matmul, matmul, 1)}
        ceilings.save(found, device)
    assert ceilings.known(device) == {"copy": 9.0, "matmul.float32": 0.3}


def test_before_the_rates_are_known_no_share_is_told(tmp_path: Path, own_cache: dict[str, str]) -> None:
    result = run(tmp_path, "benchmarks_suite", benchmark=MLP, config="eager", environment=own_cache)
    assert "no benchmark `ceilings` has run" in result["absent"]["matmul_share_percent"]
