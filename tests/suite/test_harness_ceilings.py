"""The machine's own rates: a job tells and keeps them, and the jobs after it tell which share they
reach.
"""

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


def test_a_job_tells_the_machines_rates_and_the_next_one_its_share_of_them(
    tmp_path: Path, own_cache: dict[str, str]
) -> None:
    canary = run(
        tmp_path, "benchmarks_suite", benchmark=CEILINGS, config="eager", environment=own_cache
    )["metrics"]
    assert canary["matmul_ceiling_tflops"]["low"] <= canary["matmul_ceiling_tflops"]["value"]
    assert canary["bandwidth_ceiling_gb_s"]["value"] > 0
    after = run(tmp_path, "benchmarks_suite", benchmark=MLP, config="eager", environment=own_cache)[
        "metrics"
    ]
    assert after["matmul_share_percent"]["value"] > 0


def test_of_two_measurements_the_better_rate_is_the_ceiling(
    own_cache: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPILEWATCH_CACHE", own_cache["COMPILEWATCH_CACHE"])
    device = torch.device("cpu")
    for copy, matmul in ((9.0, 0.2), (7.0, 0.3)):
        found = {
            "copy": Interval(copy, copy, copy, 1),
            "matmul.float32": Interval(matmul, matmul, matmul, 1),
        }
        ceilings.save(found, device)
    assert ceilings.load(device) == {"copy": 9.0, "matmul.float32": 0.3}


def test_before_the_rates_are_known_no_share_is_told(
    tmp_path: Path, own_cache: dict[str, str]
) -> None:
    result = run(tmp_path, "benchmarks_suite", benchmark=MLP, config="eager", environment=own_cache)
    assert "no benchmark `ceilings` has run" in result["absent"]["matmul_share_percent"]


@pytest.mark.parametrize("heads", [8, 2, 1])
def test_attention_is_counted_as_torch_counts_it_and_with_grouped_heads_too(heads: int) -> None:
    query, key, value = (2, 8, 7, 16), (2, heads, 11, 16), (2, heads, 11, 24)
    whole_key, whole_value = (2, 8, 11, 16), (2, 8, 11, 24)
    assert shares.attention_flops(query, key, value) == flop_counter.sdpa_flop_count(
        query, whole_key, whole_value
    )
    out = (2, 8, 7, 24)
    expected = flop_counter.sdpa_backward_flop_count(out, query, whole_key, whole_value)
    assert shares.attention_backward_flops(out, query, key, value) == expected


def test_a_steps_attention_is_counted_forward_and_backward() -> None:
    query, key, value = (torch.randn(2, heads, 64, 16, requires_grad=True) for heads in (8, 2, 2))
    with flop_counter.FlopCounterMode(
        display=False, custom_mapping=shares.attention_formulas()
    ) as counter:
        torch.nn.functional.scaled_dot_product_attention(
            query, key, value, enable_gqa=True
        ).sum().backward()
    forward = shares.attention_flops(query.shape, key.shape, value.shape)
    backward = shares.attention_backward_flops(query.shape, query.shape, key.shape, value.shape)
    assert counter.get_total_flops() == forward + backward
