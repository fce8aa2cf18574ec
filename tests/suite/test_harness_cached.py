"""A warm start next to the cold one: why it compiled again, and whether its code is as fast."""

from collections.abc import Sequence
from typing import Any

import pytest

from benchmarks_suite.harness import cache_keys, report_compiler
from benchmarks_suite.harness.job import parse
from benchmarks_suite.harness.result import Result
from tests.builders.fresh_process import in_fresh_process
from tests.builders.measured_jobs import MLP

JOB = parse(
    {"schema": "job.v1", "job_id": "j", "attempt": 1, "benchmark": MLP, "config": "inductor"}
)
TWO_KEYS = f"""
import json, os, tempfile, torch
from benchmarks_suite.harness import cache_keys, job, torch_versions
os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()
torch_versions.import_compiler("inductor")
keys = cache_keys.collect(job.parse({JOB.document!r}))
for size in (8, 16):
    torch.compile(torch.relu, dynamic=False)(torch.ones(size))
print(json.dumps(keys.document()))
"""


@pytest.mark.compiles
def test_key_of_a_real_graph_differs_in_the_part_that_changed() -> None:
    collected = in_fresh_process(TWO_KEYS)
    first, second = collected["keys"]
    cold, warm = collected | {"keys": [first]}, collected | {"keys": [second]}
    why = cache_keys.why_missed(cold, warm, MISS)
    assert why.startswith("the key differs from the cold start's in example_inputs[0]")


def cache(*keys: dict[str, str], bypasses: Sequence[str] = ()) -> dict[str, Any]:
    return {"has_caches": True, "keys": [*keys], "bypasses": [*bypasses]}


BYPASS = "Bypassing FX Graph Cache because of a HOP"
MISS, HIT = {"inductor.fxgraph_cache_miss": 1.0}, {"inductor.fxgraph_cache_hit": 1.0}
FIRST, SECOND = {"gm": "a", "config": "c"}, {"gm": "b", "config": "d"}


@pytest.mark.parametrize(
    ("warm", "counters", "why"),
    [
        (cache(), HIT, ""),
        (cache() | {"has_caches": False}, {}, ""),
        (cache(), {}, "no cache was looked into: force_disable_caches, or fx_graph_cache off"),
        (
            cache(SECOND | {"config": "e"}),
            MISS,
            "the key differs from the cold start's in config (misses: 1)",
        ),
        (cache(FIRST), MISS, "nothing was saved under its keys (misses: 1)"),
        (cache(bypasses=[BYPASS]), {}, ""),
    ],
)
def test_missed_cache_has_its_reason(
    warm: dict[str, Any], counters: dict[str, float], why: str
) -> None:
    assert cache_keys.why_missed(cache(FIRST, SECOND), warm, counters) == why


def warm_answer(value: float, low: float | None, high: float | None) -> dict[str, Any]:
    step = {"value": value, "low": low, "high": high, "n": 50}
    facts = {"cache": cache(), "counters": HIT}
    return {"status": "pass", "later_step_ms": step, "compile": facts}


def test_step_after_a_cached_compile_is_next_to_the_one_after_a_fresh_one() -> None:
    result = Result(JOB)
    report_compiler.warm(result, warm_answer(2.0, 1.9, 2.1), warm_answer(3.0, None, None))
    assert result.metrics["cached_step_ratio"]["value"] == 1.5
    report_compiler.warm(result, warm_answer(2.0, 1.5, 2.5), warm_answer(3.0, 2.5, 3.0))
    assert result.metrics["cached_step_ratio"]["low"] == 1.0
    assert result.metrics["cached_step_ratio"]["high"] == 2.0
