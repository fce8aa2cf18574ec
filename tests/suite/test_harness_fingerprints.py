"""Fingerprints of generated code: what is noise in them, and what is a change."""

import os
import subprocess
import sys
from pathlib import Path

from benchmarks_suite.harness.generated_code import GeneratedCode, normalized


def fingerprints_of(folder: Path, name: str, kernel: str) -> dict[str, str | None]:
    """Of a wrapper and a kernel that appear in ``folder``.

    ``name`` is in every place where a compiler puts one.
    """
    folder.mkdir()
    code = GeneratedCode(folder)
    path = f"/tmp/{name}/c{'a' * 51}.py"
    (folder / f"{name}.py").write_text(
        f"# AOT ID: ['{name}']\npath = '{path}'\ndef call(args):\n    return 1\n"
    )
    (folder / f"{name}.cpp").write_text(kernel)
    return code.fingerprints()


def test_fingerprint_depends_on_what_the_code_does_not_on_its_names(tmp_path: Path) -> None:
    first = fingerprints_of(tmp_path / "first", "first", "x[0] = 1;")
    same = fingerprints_of(tmp_path / "same", "same", "x[0] = 1;")
    other = fingerprints_of(tmp_path / "other", "other", "x[0] = 2;")
    assert first == same
    assert first["wrapper"] == other["wrapper"]
    assert first["kernels"] != other["kernels"]


def test_files_that_were_there_before_are_not_generated_code(tmp_path: Path) -> None:
    (tmp_path / "old.cpp").write_text("void probe() {}")
    fingerprints = GeneratedCode(tmp_path).fingerprints()
    assert fingerprints == {
        "wrapper": None,
        "kernels": None,
        "ptx": None,
        "cubin": None,
    }


def test_a_directive_of_cpp_is_code_not_a_comment(tmp_path: Path) -> None:
    loop = "x[0] = 1;"
    plain = fingerprints_of(tmp_path / "plain", "plain", f"\n{loop}")
    parallel = fingerprints_of(tmp_path / "omp", "omp", f"#pragma omp parallel for\n{loop}")
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
    """Fingerprints of a kernel that Triton compiled from a file in ``folder``.

    The GPU that it compiles for need not be there.
    """
    folder.mkdir()
    code, source = GeneratedCode(folder), folder / "kernel.py"
    source.write_text(TRITON_KERNEL.replace("FACTOR", str(factor)))
    variables = {"TRITON_CACHE_DIR": str(folder / "triton"), "TRITON_INTERPRET": ""}
    subprocess.run([sys.executable, str(source)], env=os.environ | variables, check=True)
    return code.fingerprints()


def test_a_kernel_is_the_same_binary_wherever_its_source_lay(tmp_path: Path) -> None:
    """Otherwise no two starts would have equal ones: each has caches in a folder of its own."""
    first = binaries_of(tmp_path / "first", factor=2)
    moved = binaries_of(tmp_path / "another_folder", factor=2)
    other = binaries_of(tmp_path / "other", factor=3)
    for kind in ("ptx", "cubin"):
        assert first[kind] is not None
        assert first[kind] == moved[kind]
        assert first[kind] != other[kind]


def test_debug_lines_of_ptx_are_noise() -> None:
    ptx = '.loc 1 2 3\nadd.f32 %f1;\n.file 1 "/a/b.py"\n'
    assert normalized(ptx) == normalized("add.f32 %f1;\n")
