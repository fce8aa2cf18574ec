"""From an exception to a status word with advice.

The exceptions are raised by torch itself wherever that is possible here.
"""

import importlib

import pytest
import torch
from torch._dynamo.exc import BackendCompilerFailed, FailOnRecompileLimitHit
from torch._inductor import exc

from benchmarks_suite.harness import outcome
from benchmarks_suite.harness.caches import ToolchainError
from benchmarks_suite.harness.portable_text import whole_sentences
from benchmarks_suite.workload import Unsupported


def outcome_of(error: BaseException) -> outcome.CaseOutcome:
    return outcome.of(error, "compile")


def raised_by(action: object) -> BaseException:
    try:
        action()  # type: ignore[operator]
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Memory ran out.", "Memory ran out."),
        ("Memory ran out. Tried to allocate 2.25 GiB of 139.80 GiB.", "Memory ran out."),
        ("float64 could not be had: memory ran out", "float64 could not be…"),
        ("/a/path/of/more/than/24/characters", "/a/path/of/more/than/24…"),
    ],
)
def test_long_text_ends_with_a_sentence_or_says_that_it_goes_on(text: str, shown: str) -> None:
    assert whole_sentences(text, 24) == shown


def test_too_little_cpu_memory_is_oom() -> None:
    case = outcome_of(raised_by(lambda: torch.empty(10**14)))
    assert case.status == "oom"
    assert "smaller batch" in case.message


def test_too_little_gpu_memory_is_oom() -> None:
    error = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
    assert outcome_of(error).status == "oom"


def test_a_missing_compiler_names_the_package() -> None:
    case = outcome_of(exc.InvalidCxxCompiler())
    assert case.status == "fail_to_compile"
    assert "apt-get install g++" in case.message


def test_a_check_of_the_compilers_that_fails_is_not_the_benchmarks_fault() -> None:
    case = outcome_of(ToolchainError("the compilers' check was ended by SIGSEGV"))
    assert case.status == "fail_to_compile"
    assert "the benchmark was not reached" in case.message
    assert "SIGSEGV" in case.message


def test_a_check_of_the_compilers_without_a_compiler_names_the_package() -> None:
    error = ToolchainError("No working C++ compiler found in CXX")
    assert "apt-get install g++" in outcome_of(error).message


def test_a_failed_assertion_of_generated_code_blames_the_compiler_and_says_what_helps() -> None:
    check = torch._C._dynamo.guards.assert_size_stride  # what generated code calls
    case = outcome_of(raised_by(lambda: check(torch.zeros(4, 3), (4, 3), (4, 1))))
    assert case.status == "fail_to_run"
    assert "the compiler is wrong" in case.message
    assert "static buckets (config inductor_buckets) or dynamic=False" in case.message
    assert case.message.endswith("expected size 4==4, stride 3==4 at dim=0")


def test_missing_headers_name_the_package() -> None:
    error = exc.CppCompileError(["g++"], "fatal error: Python.h: No such file or directory")
    assert "python3-dev" in outcome_of(error).message


def test_a_missing_triton_is_unsupported() -> None:
    assert outcome_of(exc.TritonMissing(None)).status == "unsupported"


def test_a_device_that_is_not_there_is_unsupported() -> None:
    case = outcome_of(raised_by(lambda: torch.ones(1, device="cuda")))
    assert case.status == "unsupported"
    assert "nvidia-smi" in case.message


def test_unsupported_keeps_the_words_of_the_workload() -> None:
    case = outcome_of(Unsupported("torchao is not installed"))
    assert case.status == "unsupported"
    assert case.message == "[compile] torchao is not installed"


def test_a_missing_library_is_unsupported_and_named() -> None:
    case = outcome_of(raised_by(lambda: importlib.import_module("no_such_library")))
    assert case.status == "unsupported"
    assert "'no_such_library'" in case.message


def test_a_library_that_another_one_keeps_from_importing_names_that() -> None:
    error = ModuleNotFoundError("Could not import module 'BertForMaskedLM'")  # as transformers does
    error.__cause__ = RuntimeError("torchaudio was compiled for CUDA 13.0")
    case = outcome_of(error)
    assert case.status == "unsupported"
    assert "BertForMaskedLM" in case.message
    assert case.message.endswith("(because of RuntimeError: torchaudio was compiled for CUDA 13.0)")


@pytest.mark.timeout(10)
def test_two_errors_that_name_each_other_as_cause_are_each_named_once() -> None:
    error, other = ModuleNotFoundError("no timm"), RuntimeError("no CUDA")
    error.__cause__, other.__cause__ = other, error
    assert outcome_of(error).message.endswith("no timm (because of RuntimeError: no CUDA)")


def test_a_full_disk_says_where_to_free_space() -> None:
    assert "TMPDIR" in outcome_of(OSError(28, "No space left on device")).message


def test_the_compilers_error_is_the_compilers() -> None:
    def backend(graph: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> None:
        raise ValueError("no such lowering")

    error = raised_by(lambda: torch.compile(lambda x: x + 1, backend=backend)(torch.ones(2)))
    assert isinstance(error, BackendCompilerFailed)
    assert outcome_of(error).status == "fail_to_compile"


def test_memory_that_runs_out_inside_the_compiler_is_still_oom() -> None:
    def backend(graph: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> None:
        torch.empty(10**14)

    error = raised_by(lambda: torch.compile(lambda x: x + 2, backend=backend)(torch.ones(2)))
    assert outcome_of(error).status == "oom"


def test_a_recompile_over_the_limit_fails_to_compile() -> None:
    error = FailOnRecompileLimitHit("recompile_limit reached")
    assert outcome_of(error).status == "fail_to_compile"


def test_anything_else_is_the_benchmarks_own() -> None:
    case = outcome.of(ZeroDivisionError("division by zero"), "eager")
    assert case.status == "fail_to_run"
    assert case.message == (
        "The benchmark raised in stage eager: ZeroDivisionError: division by zero"
    )


def test_a_recompile_under_fail_on_recompile_is_a_failed_check() -> None:
    compiled = torch.compile(lambda x: x + 1, backend="eager", dynamic=False)
    compiled(torch.ones(2))
    with torch.compiler.set_stance("fail_on_recompile"):
        case = outcome_of(raised_by(lambda: compiled(torch.ones(3))))
    torch._dynamo.reset()
    assert case.status == "fail_to_run"
    assert case.message.startswith("The check failed")


def test_a_message_names_no_folder_of_this_machine() -> None:
    library = "/home/me/.venv/lib/python3.11/site-packages/lib/x.py"
    error = ValueError(f"in '{library}', /srv/a/benchmarks_suite/configs.py")
    assert outcome_of(error).message.endswith("in 'lib/x.py', benchmarks_suite/configs.py")
