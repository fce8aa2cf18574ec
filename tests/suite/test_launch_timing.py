"""The time that Inductor spends on timing launches, as a start records it."""

from tests.builders.fresh_process import in_fresh_process

TIMED_LAUNCHES = """
import json, time, torch
from benchmarks_suite.harness import start, torch_versions
torch_versions.import_compiler('inductor')
from torch._inductor.runtime.triton_heuristics import CachingAutotuner
class Launch:
    config = None
class Tuner(CachingAutotuner):
    def __init__(self):
        self.inductor_meta, self.compile_id, self.is_backward = {}, None, False
        self.launchers = [Launch(), Launch()]
        self.reset_to_zero_arg_names, self.coordesc_tuner = [], self
    def bench(self, launcher):
        time.sleep(0.05)
        return 1.0
    def cache_benchmark_result(self, config, ms): pass
    def _close_static_launcher(self, launcher): pass
Tuner().benchmark_all_configs()
print(json.dumps(start.facts([])))
"""


def test_the_timing_of_launches_is_no_part_of_compiling() -> None:
    phases = in_fresh_process(TIMED_LAUNCHES)["phases_s"]
    assert phases["autotune"] >= 0.1
    assert phases["total"] == 0
