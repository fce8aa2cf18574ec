"""The machine's own rates: a job reports and keeps them, and later jobs their share of them."""

from pathlib import Path

import pytest
import torch
from torch.utils import flop_counter

from benchmarks_suite.harness import ceilings, shares
from benchmarks_suite.harness.statistics import Interval
from tests.builders.measured_jobs import MLP, run

CEILINGS = "ceilings.smoke.inference.float32.static.b512"


@pytest.fixture
def own_cache(tmp_path: Path) -> dict[str, str]:
    return {"COMPILEWATCH_CACHE": str(tmp_path / "cache")}


def test_a_job_reports_the_machines_rates_and_the_next_one_its_share_of_them(
    tmp_path: Path, own_cache: dict[str, str]
) -> None:
    eager = {"config": "eager", "environment": own_cache}
    canary = run(tmp_path, "benchmarks_suite", benchmark=CEILINGS, **eager)["metrics"]
    assert canary["matmul_ceiling_tflops"]["low"] <= canary["matmul_ceiling_tflops"]["value"]
    assert canary["bandwidth_ceiling_gb_s"]["value"] > 0
    after = run(tmp_path, "benchmarks_suite", benchmark=MLP, **eager)["metrics"]
    assert after["matmul_share_percent"]["value"] > 0


def test_of_two_measurements_the_better_rate_is_the_ceiling(
    own_cache: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPILEWATCH_CACHE", own_cache["COMPILEWATCH_CACHE"])
    device = torch.device("cpu")
    ceilings.save({"copy": exactly(9.0), "matmul.float32": exactly(0.2)}, device)
    ceilings.save({"copy": exactly(7.0), "matmul.float32": exactly(0.3)}, device)
    assert ceilings.load(device) == {"copy": 9.0, "matmul.float32": 0.3}


def exactly(value: float) -> Interval:
    return Interval(value, value, value, 1)


def test_no_share_is_reported_before_the_rates_are_known(
    tmp_path: Path, own_cache: dict[str, str]
) -> None:
    result = run(
        tmp_path,
        "benchmarks_suite",
        benchmark=MLP,
        config="eager",
        environment=own_cache,
    )
    assert "no benchmark `ceilings` has run" in result["absent"]["matmul_share_percent"]


@pytest.mark.parametrize("heads", [8, 2, 1])
def test_attention_is_counted_as_torch_counts_it_also_with_grouped_heads(heads: int) -> None:
    query, key, value = (2, 8, 7, 16), (2, heads, 11, 16), (2, heads, 11, 24)
    whole_key, whole_value = (2, 8, 11, 16), (2, 8, 11, 24)
    forward = flop_counter.sdpa_flop_count(query, whole_key, whole_value)
    assert shares.attention_flops(query, key, value) == forward
    out = (2, 8, 7, 24)
    backward = flop_counter.sdpa_backward_flop_count(out, query, whole_key, whole_value)
    assert shares.attention_backward_flops(out, query, key, value) == backward


def test_a_steps_attention_is_counted_forward_and_backward() -> None:
    query = torch.randn(2, 8, 64, 16, requires_grad=True)
    key = torch.randn(2, 2, 64, 16, requires_grad=True)
    value = torch.randn(2, 2, 64, 16, requires_grad=True)
    formulas = shares.attention_formulas()
    with flop_counter.FlopCounterMode(display=False, custom_mapping=formulas) as counter:
        output = torch.nn.functional.scaled_dot_product_attention(
            query, key, value, enable_gqa=True
        )
        output.sum().backward()
    forward = shares.attention_flops(query.shape, key.shape, value.shape)
    backward = shares.attention_backward_flops(query.shape, query.shape, key.shape, value.shape)
    assert counter.get_total_flops() == forward + backward
