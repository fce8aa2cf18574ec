"""From an exception to a status word with advice. The exceptions are raised by torch itself
wherever it can be had here.
"""

import importlib

import torch
from torch._dynamo.exc import BackendCompilerFailed, FailOnRecompileLimitHit
from torch._inductor import exc

from benchmarks_suite.harness import outcome
from benchmarks_suite.harness.caches import ToolchainError
from benchmarks_suite.workload import Unsupported


def outcome_of(error: BaseException) -> outcome.CaseOutcome:
    return outcome.of(error, "compile")


def raised_by(action: object) -> BaseException:
    try:
        action()  # type: ignore[operator]
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def test_memory_that_the_cpu_does_not_have() -> None:
    found = outcome_of(raised_by(lambda: torch.empty(10**14)))
    assert found.status == "oom"
    assert "smaller batch" in found.message


def test_memory_that_the_gpu_does_not_have() -> None:
    assert (
        outcome_of(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")).status
        == "oom"
    )


def test_a_missing_compiler_names_the_package() -> None:
    found = outcome_of(exc.InvalidCxxCompiler())
    assert found.status == "fail_to_compile"
    assert "apt-get install g++" in found.message


def test_a_check_of_the_compilers_that_fails_is_not_the_benchmarks_fault() -> None:
    found = outcome_of(ToolchainError("the compilers' check was ended by SIGSEGV"))
    assert found.status == "fail_to_compile"
    assert "the benchmark was not reached" in found.message
    assert "SIGSEGV" in found.message
    assert (
        "apt-get install g++"
        in outcome_of(ToolchainError("No working C++ compiler found in CXX")).message
    )


def test_an_assertion_of_generated_code_is_told_as_the_compilers() -> None:
    check = torch._C._dynamo.guards.assert_size_stride  # what generated code calls
    found = outcome_of(raised_by(lambda: check(torch.zeros(4, 3), (4, 3), (4, 1))))
    assert found.status == "fail_to_run"
    assert "the compiler is wrong" in found.message
    assert found.message.endswith("expected size 4==4, stride 3==4 at dim=0")


def test_missing_headers_name_the_package() -> None:
    error = exc.CppCompileError(["g++"], "fatal error: Python.h: No such file or directory")
    assert "python3-dev" in outcome_of(error).message


def test_a_missing_triton_is_unsupported() -> None:
    assert outcome_of(exc.TritonMissing(None)).status == "unsupported"


def test_a_device_that_is_not_there_is_unsupported() -> None:
    found = outcome_of(raised_by(lambda: torch.ones(1, device="cuda")))
    assert found.status == "unsupported"
    assert "nvidia-smi" in found.message


def test_what_a_workload_calls_unsupported_is_told_in_its_words() -> None:
    assert outcome_of(Unsupported("torchao is not installed")) == outcome.CaseOutcome(
        "unsupported", "[compile] torchao is not installed"
    )


def test_a_missing_library_is_unsupported_and_named() -> None:
    found = outcome_of(raised_by(lambda: importlib.import_module("no_such_library")))
    assert found.status == "unsupported"
    assert "'no_such_library'" in found.message


def test_a_full_disk_says_where_to_free_space() -> None:
    assert "TMPDIR" in outcome_of(OSError(28, "No space left on device")).message


def test_the_compilers_error_is_the_compilers() -> None:
    def backend(graph: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> None:
        raise ValueError("no such lowering")

    error = raised_by(lambda: torch.compile(lambda x: x + 1, backend=backend)(torch.ones(2)))
    assert isinstance(error, BackendCompilerFailed)
    assert outcome_of(error).status == "fail_to_compile"


def test_memory_that_runs_out_inside_the_compiler_is_still_memory() -> None:
    def backend(graph: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> None:
        torch.empty(10**14)

    error = raised_by(lambda: torch.compile(lambda x: x + 2, backend=backend)(torch.ones(2)))
    assert outcome_of(error).status == "oom"


def test_a_recompile_where_none_may_be() -> None:
    assert (
        outcome_of(FailOnRecompileLimitHit("recompile_limit reached")).status == "fail_to_compile"
    )


def test_anything_else_is_the_benchmarks_own() -> None:
    found = outcome.of(ZeroDivisionError("division by zero"), "eager")
    assert found == outcome.CaseOutcome(
        "fail_to_run", "The benchmark raised in stage eager: ZeroDivisionError: division by zero"
    )


def test_a_recompile_under_the_stance_that_forbids_it_is_told_as_the_check_that_failed() -> None:
    compiled = torch.compile(lambda x: x + 1, backend="eager", dynamic=False)
    compiled(torch.ones(2))
    with torch.compiler.set_stance("fail_on_recompile"):
        found = outcome_of(raised_by(lambda: compiled(torch.ones(3))))
    torch._dynamo.reset()
    assert found.status == "fail_to_run"
    assert found.message.startswith("The check failed")


def test_a_message_names_no_folder_of_this_machine() -> None:
    error = ValueError(
        "in '/home/me/.venv/lib/python3.11/site-packages/lib/x.py', "
        "/srv/a/benchmarks_suite/configs.py"
    )
    assert outcome_of(error).message.endswith("in 'lib/x.py', benchmarks_suite/configs.py")
