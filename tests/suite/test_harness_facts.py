"""Facts about compiler, code, memory and machine, from the real thing where no GPU is needed."""

import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing._internal.two_tensor import TwoTensor

from benchmarks_suite.configs import ABLATION, CONFIGS
from benchmarks_suite.harness import (
    arms,
    caches,
    environment,
    nvml,
    perf_hints,
    report,
    torch_versions,
    warm_imports,
)
from benchmarks_suite.harness import memory as memory_of_process
from benchmarks_suite.harness.interference import Watch
from benchmarks_suite.harness.job import Job, parse
from benchmarks_suite.harness.memory import PeakMemory
from benchmarks_suite.harness.result import Result
from benchmarks_suite.harness.working_copies import set_dropout_to_zero
from tests.builders.fresh_process import in_fresh_process
from tests.builders.measured_jobs import MLP, run

MINIMAL = {
    "schema": "job.v1",
    "job_id": "by-hand",
    "attempt": 1,
    "benchmark": "mlp.smoke.inference.float32.static.b64",
    "config": "inductor",
}


@pytest.fixture
def job() -> Job:
    return parse(MINIMAL)


BREAKS_AND_RECOMPILES = """
import json, torch
from benchmarks_suite.harness import start, torch_versions
torch_versions.import_compiler('eager')
@torch.compile(backend='eager', dynamic=False)
def twice(x):
    x = x + 1
    torch._dynamo.graph_break()
    return x * 2
for size in (2, 3):
    twice(torch.ones(size))
print(json.dumps(start.facts([])))
"""


def test_a_graph_break_has_its_place_and_a_recompile_its_guard() -> None:
    facts = in_fresh_process(BREAKS_AND_RECOMPILES)
    (graph_break,) = facts["graph_breaks"]
    assert graph_break["location"] == "<string>:8 in twice"
    assert graph_break["count"] == 2
    assert facts["counters"]["stats.unique_graphs"] == 4
    assert "size mismatch" in facts["recompiles"][0]["reason"]
    assert facts["recompiles"][0]["function"].startswith("twice (<string>:5)")
    assert facts["phases_s"]["dynamo"] > 0


def test_peak_memory_includes_what_was_freed_again() -> None:
    memory = PeakMemory(torch.device("cpu"))
    memory.reset()
    before = memory.peak_gb()
    large = torch.ones(25_000_000)  # 0.1 GB
    del large
    assert memory.peak_gb() - before == pytest.approx(0.1, abs=0.02)
    memory.reset()
    assert memory.peak_gb() - before == pytest.approx(0, abs=0.02)


@pytest.fixture
def freed_heap() -> Iterator[None]:
    """0.1 GB of the heap is free and still resident; other tests do not find it."""
    blocks = [b"x" * 10_000 for _ in range(10_000)]
    del blocks[:-1]  # the last one keeps the heap from shrinking
    yield
    PeakMemory(torch.device("cpu")).reset()


@pytest.mark.usefixtures("freed_heap")
def test_what_was_free_before_is_not_taken_off_peak_memory() -> None:
    memory = PeakMemory(torch.device("cpu"))
    memory.start_counting()
    memory.reset()
    assert memory.peak_gb() == pytest.approx(0, abs=0.02)


@pytest.mark.usefixtures("freed_heap")
def test_peak_memory_includes_weights_that_lie_in_what_was_free_before() -> None:
    memory = PeakMemory(torch.device("cpu"))
    weights = [torch.empty(25_000) for _ in range(1_000)]  # 0.1 GB
    memory.start_counting()
    memory.reset()
    for weight in weights:
        weight.fill_(1)
    assert memory.peak_gb() == pytest.approx(0.1, abs=0.02)


def test_memory_that_a_cuda_graph_keeps_for_its_replays_is_in_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shared = {"segment_pool_id": (0, 0), "total_size": 10, "allocated_size": 1}
    of_graph = {"segment_pool_id": (0, 1), "total_size": 7, "allocated_size": 2}
    monkeypatch.setattr(torch.cuda, "memory_snapshot", lambda: [shared, of_graph])
    assert memory_of_process._kept_by_graphs() == 5


def test_a_tensor_that_wraps_others_counts_their_bytes() -> None:
    assert arms._bytes(TwoTensor(torch.ones(3), torch.ones(3))) == 2 * 3 * 4
    assert arms._bytes(torch.ones(3)) == 3 * 4


def test_the_workspace_of_the_untimed_matmul_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    given_back: list[str] = []
    monkeypatch.setattr(
        torch._C, "_cuda_clearCublasWorkspaces", lambda: given_back.append("all"), raising=False
    )
    torch_versions.forget_matmul_workspace()
    assert given_back == ["all"]


def test_a_base_that_no_job_used_for_long_is_removed_and_one_in_use_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPILEWATCH_CACHE", str(tmp_path))
    long_ago = time.time() - (caches.UNUSED_DAYS + 1) * 24 * 3600
    unused = caches.Base(caches.cache_home() / "toolchain-unused")
    used = caches.Base(caches.cache_home() / "toolchain-used")
    for base in (unused, used):
        base.folder.mkdir()
        (base.folder / "toolchain.json").touch()
        os.utime(base.folder / "toolchain.json", (long_ago, long_ago))
    used.note_use()
    caches._forget_unused()
    assert not unused.folder.exists()
    assert used.is_made


def wrapper_of(**fields: Any) -> str:
    return warm_imports.wrapper(parse(MINIMAL | fields))


def test_each_wrapper_has_a_base_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COMPILEWATCH_CACHE", str(tmp_path))
    special = {name for name in CONFIGS if wrapper_of(config=name) != "python"}
    assert special == {"inductor_cpp_wrapper", "aot_inductor"}
    assert wrapper_of(variant={"inductor": {"cpp_wrapper": True}}) == "cpp"
    bases = {caches.place("cpu", {}, wrapper) for wrapper in ("python", "cpp", "aot")}
    assert len(bases) == 3


@pytest.mark.slow
@pytest.mark.parametrize("wrapper", ["python", "cpp", "aot"])
def test_a_base_holds_every_header_that_its_configs_precompile(
    wrapper: str, tmp_path: Path
) -> None:
    """Otherwise a config's first cold start on a machine would pay for them, and no later one."""
    config = {
        "python": "inductor",
        "cpp": "inductor_cpp_wrapper",
        "aot": "aot_inductor",
    }[wrapper]
    variables = {"COMPILEWATCH_CACHE": str(tmp_path)}
    script = f"from benchmarks_suite.harness import caches; caches.base('cpu', {wrapper!r})"
    subprocess.run([sys.executable, "-c", script], env=os.environ | variables, check=True)
    before = set(tmp_path.rglob("*.gch"))
    case = {
        "benchmark": MLP,
        "config": config,
        "measure": {"starts": ["cold"]},
    }
    run(tmp_path, "benchmarks_suite", **case, environment=variables)
    assert before
    assert set(tmp_path.rglob("*.gch")) == before


def test_a_crashed_check_of_the_compilers_is_reported_with_its_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crashing = tmp_path / "python"
    crashing.write_text("#!/bin/sh\necho a warning >&2\nkill -SEGV $$\n")
    crashing.chmod(0o755)
    monkeypatch.setenv("COMPILEWATCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("sys.executable", str(crashing))
    text = r"^the compilers' check was ended by SIGSEGV\na warning$"
    with pytest.raises(caches.ToolchainError, match=text):
        caches.base("cpu")


def test_a_busy_machine_is_marked() -> None:
    """More busy processes than CPUs: someone must wait."""
    spin = "import time\nend = time.monotonic() + 20\nwhile time.monotonic() < end: pass"
    spinners = []
    for _ in range(2 * len(os.sched_getaffinity(0))):
        spinners.append(subprocess.Popen([sys.executable, "-c", spin]))
    try:
        time.sleep(0.5)
        with Watch(None) as watch:
            time.sleep(1)
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()
    assert "cpu_pressure" in [kind for kind, _ in watch.marks()]


def test_gpu_readings_become_marks_and_metrics() -> None:
    watch = Watch(0)
    watch.readings = [
        nvml.Reading(80.0, 600.0, 1980.0, 70.0, (), 1),
        nvml.Reading(100.0, 700.0, 1500.0, 90.0, ("power cap",), 2),
    ]
    kinds = [kind for kind, _ in watch.marks()]
    assert kinds == ["gpu_throttled", "gpu_hot", "gpu_shared", "clock_changed"]
    metrics = watch.gpu_metrics()
    assert metrics["gpu_clock_mhz"] == 1740
    assert metrics["gpu_power_w"] == 650
    assert metrics["gpu_utilization_percent"] == 90


def test_a_device_that_reports_nothing_leaves_no_metric() -> None:
    watch = Watch(0)
    watch.readings = [nvml.Reading(None, None, None, None, (), None)]
    assert watch.marks() == []
    assert watch.gpu_metrics() == {}


def test_equal_machines_have_equal_fingerprints_whatever_their_names(job: Job) -> None:
    document = environment.describe(job)
    other = json.loads(json.dumps(document))
    other["machine"] |= {"host": "another", "device_id": "GPU-2"}
    del other["fingerprint"]
    assert environment.fingerprint(other) == document["fingerprint"]


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ("torch", "version"),
        ("machine", "cpu"),
        ("settings", "threads"),
    ],
)
def test_another_torch_machine_or_setting_is_another_fingerprint(
    job: Job, section: str, key: str
) -> None:
    document = environment.describe(job)
    before = document.pop("fingerprint")
    document[section][key] = "another"
    assert environment.fingerprint(document) != before


def test_environment_leaves_out_what_differs_between_jobs_or_devices(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/somewhere/private")
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "another each time")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "the worker's own")
    monkeypatch.setenv("TORCH_LOGS", "recompiles")
    settings = environment.describe(job)["settings"]
    assert "env.TORCHINDUCTOR_CACHE_DIR" not in settings
    assert "env.TORCHELASTIC_RUN_ID" not in settings
    assert "env.CUDA_VISIBLE_DEVICES" not in settings
    assert settings["env.TORCH_LOGS"] == "recompiles"


def test_all_stages_of_the_ablation_are_configs() -> None:
    assert [CONFIGS[name].backend for name in ABLATION] == ["eager", "aot_eager", "inductor"]


def test_hints_are_collected_and_not_printed(capfd: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("torch._inductor.test.__perf_hints")
    hints = perf_hints.collect()
    logger.info("skipping cudagraphs due to %s", "a mutated input")
    assert hints.texts == ["skipping cudagraphs due to a mutated input"]
    assert capfd.readouterr().err == ""


def test_dropout_is_set_to_zero_wherever_a_model_keeps_it() -> None:
    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention_dropout = 0.1

        def forward(self, x: Tensor) -> Tensor:
            return nn.functional.dropout(x, self.attention_dropout)

    module = nn.Sequential(nn.Dropout(0.3), Attention())
    set_dropout_to_zero(module)
    assert torch.equal(module(torch.ones(100)), torch.ones(100))


@pytest.mark.parametrize(("again", "marks"), [("b", []), ("c", ["fingerprint_unstable"])])
def test_code_that_differs_between_two_cold_starts_is_marked_unstable(
    job: Job, again: str, marks: list[str]
) -> None:
    result = Result(job)
    result.sections["compile"] = {
        "fingerprints": {
            "wrapper": "a",
            "kernels": "b",
            "ptx": None,
        }
    }
    second = {"wrapper": "a", "kernels": again, "ptx": None}
    report.start(result, "cold_again", {"status": "pass", "compile": {"fingerprints": second}})
    assert [mark["kind"] for mark in result.marks] == marks
    assert all("(kernels)" in mark["detail"] for mark in result.marks)


GIVES_UP = """
import json, torch
from benchmarks_suite.harness import perf_hints
limits = perf_hints.recompile_limits()
@torch.compile(backend='eager', dynamic=False)
def twice(x):
    return x * 2
for size in range(2, 14):
    twice(torch.ones(size))
print(json.dumps(limits.texts))
"""


def test_function_that_dynamo_gives_up_is_named_with_its_limit_and_guard() -> None:
    (text,) = in_fresh_process(GIVES_UP)
    assert text.startswith("'twice' (<string>:5) was compiled 8 times (recompile_limit)")
    assert "runs in eager since. The last guard that failed: " in text
    assert "size mismatch" in text


def test_what_the_compiler_did_not_do_is_marked(job: Job) -> None:
    result = Result(job)
    facts: dict[str, Any] = {"graph_breaks": [], "recompiles": [], "counters": {}}
    given_up = {
        "recompile_limits": ["'twice' runs in eager since"],
        "cudagraph_skips": ["cpu"],
        "cache": {"bypasses": ["Bypassing FX Graph Cache"]},
    }
    for _ in range(2):
        report.compiler_facts(result, facts | given_up)
    marks = [(mark["kind"], mark["detail"]) for mark in result.marks]
    assert marks == [
        ("recompile_limit", "'twice' runs in eager since"),
        ("no_cuda_graphs", "cpu"),
        ("cache_missed", "Bypassing FX Graph Cache"),
    ]
