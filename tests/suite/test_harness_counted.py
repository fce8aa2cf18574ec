"""The counted start: Python calls of a cold compile, and what the compiler counted."""

import json
import lzma
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from benchmarks_suite.harness import absence
from benchmarks_suite.harness.call_counts import (
    ARTIFACT,
    CallCounter,
    CallTable,
    function_name,
    phase,
)
from dashboard.results.core import compile_diff
from tests.builders.measured_jobs import MLP, run

HERE = "test_harness_counted.py"


def leaf() -> None:
    pass


def twice() -> None:
    leaf()
    leaf()


def down(levels: int) -> None:
    leaf()
    if levels:
        down(levels - 1)


def counted(function: Any, *arguments: Any) -> CallTable:
    counter = CallCounter()
    with counter:
        function(*arguments)
    return counter.table()


def test_calls_are_counted_by_function_and_by_caller() -> None:
    table = counted(twice)
    assert table.calls[f"{HERE}:twice"] == 1
    assert table.calls[f"{HERE}:leaf"] == 2
    assert table.edges[f"{HERE}:twice", f"{HERE}:leaf"] == 2


def test_calls_below_a_function_include_its_own() -> None:
    table = counted(twice)
    assert table.below[f"{HERE}:twice"] == 3
    assert table.below[f"{HERE}:leaf"] == 2
    assert table.edges_below[f"{HERE}:twice", f"{HERE}:leaf"] == 2


def test_recursive_calls_count_once_below() -> None:
    table = counted(down, 4)
    assert table.calls[f"{HERE}:down"] == 5
    assert table.below[f"{HERE}:down"] == 10


def test_what_was_called_elsewhere_is_not_counted() -> None:
    twice()
    assert not [name for name in counted(leaf).calls if name.endswith(":twice")]


def test_a_thread_that_outlives_the_counting_can_be_saved(tmp_path: Path) -> None:
    """Since Python 3.12 its calls are counted, too, and the first of them has not ended."""
    done = threading.Event()
    watcher = threading.Thread(target=done.wait)

    def start_and_call() -> None:
        watcher.start()
        twice()

    table = counted(start_and_call)
    done.set()
    watcher.join()
    table.save(tmp_path / ARTIFACT)
    saved = compile_diff.read_calls((tmp_path / ARTIFACT).read_bytes())
    assert saved.calls[f"{HERE}:leaf"] == 2


@pytest.mark.parametrize(
    ("path", "name", "expected"),
    [
        ("/x/lib/python3.11/site-packages/torch/fx/node.py", "Node.f", "torch/fx/node.py:Node.f"),
        ("/usr/lib/python3.11/ast.py", "parse", "ast.py:parse"),
        (f"/tmp/inductor/ab/c{'a7' * 25}b.py", "call", "generated.py:call"),
        ("<eval_with_key>.12", "forward", "<eval_with_key>:forward"),
        ("<string>", "argmap_cut_5", "<string>:argmap_cut"),
        ("/home/me/model.py", "Net.forward_2", "model.py:Net.forward_2"),
    ],
)
def test_names_lack_what_differs_from_machine_to_machine(
    path: str, name: str, expected: str
) -> None:
    code: CodeType = leaf.__code__.replace(co_filename=path, co_qualname=name)
    assert function_name(code) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch/_dynamo/guards.py:f", "dynamo"),
        ("torch/_functorch/aot_autograd.py:f", "aot"),
        ("torch/_inductor/scheduler.py:f", "inductor"),
        ("torch/_inductor/codegen/cpp.py:f", "kernels"),
        ("triton/compiler/compiler.py:f", "kernels"),
        ("sympy/core/basic.py:f", "other"),
    ],
)
def test_a_function_belongs_to_a_phase_by_its_path(name: str, expected: str) -> None:
    assert phase(name) == expected


def test_counts_of_calls_are_none_where_the_compiler_was_not_imported() -> None:
    code = "from benchmarks_suite.harness import compiler_counts as c; print(c.of_calls({}))"
    printed = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert printed.strip() == "{'fusions': None, 'eager_fallbacks': None}"


@pytest.mark.compiles
def test_a_counted_start_has_calls_by_phase_and_the_compilers_counts(
    started: dict[str, Any],
) -> None:
    start, metrics = started["starts"]["counted"], started["metrics"]
    assert metrics["compile_calls"]["value"] == start["calls"] > 100_000
    assert sum(start["calls_by_phase"].values()) == start["calls"]
    assert start["calls_by_phase"]["dynamo"] > 0
    expected = {*absence.COUNTS, *absence.COUNTS_OF_CALLS}
    assert expected <= metrics.keys()
    assert metrics["generated_kernels"]["value"] > 0
    assert metrics["guards"]["value"] > 0


@pytest.mark.compiles
def test_the_table_of_calls_is_kept_with_the_generated_code(
    started_folder: Path, started: dict[str, Any]
) -> None:
    packed = (started_folder / "out" / "artifacts" / ARTIFACT).read_bytes()
    table = json.loads(lzma.decompress(packed))
    calls = sum(calls for _, calls, _ in table["functions"])
    assert calls == started["starts"]["counted"]["calls"]
    assert len(packed) < 500_000


@pytest.mark.compiles
def test_a_counted_start_needs_no_cold_one_nor_samples(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        "benchmarks_suite",
        benchmark=MLP,
        config="inductor",
        measure={"starts": ["counted"], "accuracy_only": True},
    )
    assert result["status"] == "pass"
    assert [*result["starts"]] == ["counted"]
    assert result["metrics"]["compile_calls"]["value"] > 100_000
    assert result["absent"]["cold_start_s"] == "no cold start was asked for (measure.starts)"
    assert (tmp_path / "out" / "artifacts" / ARTIFACT).exists()


TRIALS = """
import time
from benchmarks_suite.harness import torch_versions
from torch._inductor.runtime.benchmarking import InductorBenchmarker

def trials(seconds):
    seen = []
    kernel = lambda: seen.append(time.sleep(seconds))
    InductorBenchmarker().benchmark_gpu(kernel, device_type="cpu")  # a CPU's clock will do
    return len(seen)

as_it_is = trials(0), trials(0.005)
torch_versions.time_kernels_equally_often()
print(*as_it_is, trials(0), trials(0.005))
"""


def test_a_fast_kernel_is_timed_as_often_as_a_slow_one() -> None:
    printed = subprocess.check_output([sys.executable, "-c", TRIALS], text=True)
    fast_before, slow_before, fast, slow = map(int, printed.split())
    assert fast_before > slow_before  # else Inductor does it by itself now
    assert fast == slow


def counted_with(folder: Path, extra_calls: int) -> bytes:
    """The packed calls of a compile in which one of Inductor's passes makes this many more."""
    arguments = [str(folder), str(extra_calls)]
    command = [sys.executable, "-m", "tests.builders.counted_with_extra", *arguments]
    subprocess.run(command, check=True, env=os.environ)
    return (folder / ARTIFACT).read_bytes()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> compile_diff.CallTable:
    packed = counted_with(tmp_path_factory.mktemp("undisturbed"), 0)
    return compile_diff.read_calls(packed)


@pytest.mark.compiles
def test_no_thread_is_started_while_calls_are_counted(undisturbed: compile_diff.CallTable) -> None:
    """Since Python 3.12 its calls would be among them."""
    assert "threading.py:Thread.start" not in undisturbed.calls


@pytest.mark.compiles
@pytest.mark.parametrize("percent", [1, 2, 5])
def test_extra_work_in_a_pass_is_reported_within_two_points_and_named_first(
    tmp_path: Path, undisturbed: compile_diff.CallTable, percent: int
) -> None:
    calls = undisturbed.calls.total()
    disturbed = compile_diff.read_calls(counted_with(tmp_path, calls * percent // 100))
    change_percent = 100 * (disturbed.calls.total() / calls - 1)
    assert change_percent == pytest.approx(percent, abs=2)
    first = compile_diff.function_changes(undisturbed, disturbed)[0]
    assert first.function.name == "counted_with_extra.py:does_nothing"
    assert first.caller is not None
    assert first.caller.name == "counted_with_extra.py:main.<locals>.with_extra_work"
