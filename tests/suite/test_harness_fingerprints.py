"""Fingerprints of generated code: what is noise in them, and what is a change."""

import os
import subprocess
import sys
from pathlib import Path

from benchmarks_suite.harness.generated_code import GeneratedCode, normalized


def fingerprints_of(folder: Path, name: str, kernel: str) -> dict[str, str | None]:
    """Of a wrapper and a kernel that appear in ``folder``; ``name`` is in every place where a
    compiler puts one.
    """
    folder.mkdir()
    code = GeneratedCode(folder)
    path = f"/tmp/{name}/c{'a' * 51}.py"
    (folder / f"{name}.py").write_text(
        f"# AOT ID: ['{name}']\npath = '{path}'\ndef call(args):\n    return 1\n"
    )
    (folder / f"{name}.cpp").write_text(kernel)
    return code.fingerprints()


def test_code_is_told_by_what_it_says_not_by_its_names(tmp_path: Path) -> None:
    one, two, three = (
        fingerprints_of(tmp_path / name, name, kernel)
        for name, kernel in (("one", "x[0] = 1;"), ("two", "x[0] = 1;"), ("three", "x[0] = 2;"))
    )
    assert one == two
    assert (three["wrapper"], three["kernels"] == one["kernels"]) == (one["wrapper"], False)


def test_what_was_there_before_is_not_generated_code(tmp_path: Path) -> None:
    (tmp_path / "old.cpp").write_text("void probe() {}")
    assert GeneratedCode(tmp_path).fingerprints() == {
        "wrapper": None,
        "kernels": None,
        "ptx": None,
        "cubin": None,
    }


def test_a_directive_of_cpp_is_code_and_no_comment(tmp_path: Path) -> None:
    plain, parallel = (
        fingerprints_of(tmp_path / name, name, f"{directive}\nx[0] = 1;")
        for name, directive in (("plain", ""), ("parallel", "#pragma omp parallel for"))
    )
    assert plain["kernels"] != parallel["kernels"]


TRITON_KERNEL = """
import triton, triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile

@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.exp(tl.load(x_ptr + i)) * FACTOR)

types = {"x_ptr": "*fp32", "out_ptr": "*fp32", "BLOCK": "constexpr"}
compile(ASTSource(kernel, types, {(2,): 256}), target=GPUTarget("cuda", 90, 32))
"""


def binaries_of(folder: Path, factor: int) -> dict[str, str | None]:
    """Fingerprints of a kernel that Triton compiled, for a GPU that need not be there, from a file
    in ``folder``.
    """
    folder.mkdir()
    code, source = GeneratedCode(folder), folder / "kernel.py"
    source.write_text(TRITON_KERNEL.replace("FACTOR", str(factor)))
    variables = {"TRITON_CACHE_DIR": str(folder / "triton"), "TRITON_INTERPRET": ""}
    subprocess.run([sys.executable, str(source)], env=os.environ | variables, check=True)
    return code.fingerprints()


def test_a_kernel_is_the_same_binary_wherever_its_source_lay(tmp_path: Path) -> None:
    """Else no two starts would have equal ones: each has caches in a folder of its own."""
    one, two, other = (
        binaries_of(tmp_path / name, factor)
        for name, factor in (("one", 2), ("another_folder", 2), ("other", 3))
    )
    assert one["ptx"] is not None
    assert one["cubin"] is not None
    assert (two["ptx"], two["cubin"]) == (one["ptx"], one["cubin"])
    assert other["ptx"] != one["ptx"]
    assert other["cubin"] != one["cubin"]


def test_debug_lines_of_ptx_are_noise() -> None:
    assert normalized('.loc 1 2 3\nadd.f32 %f1;\n.file 1 "/a/b.py"\n') == normalized(
        "add.f32 %f1;\n"
    )
