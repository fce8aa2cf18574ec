"""AOTInductor's packages, as the C++ compilers of different machines make them."""

import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from benchmarks_suite.harness.aot_inductor import has_own_runtime

SOURCE = """
#include <regex>
bool digits(const char* text) { return std::regex_match(text, std::regex("[0-9]+")); }
"""


@pytest.mark.parametrize(
    ("option", "own"), [("-shared-libgcc", False), ("-static-libstdc++", True)]
)
def test_package_with_its_own_cpp_runtime_is_detected(
    tmp_path: Path, option: str, own: bool
) -> None:
    source, library = tmp_path / "model.cpp", tmp_path / "model.so"
    source.write_text(SOURCE)
    compiler = os.environ.get("CXX", "g++")
    subprocess.run(
        [compiler, "-shared", "-fPIC", option, str(source), "-o", str(library)], check=True
    )
    with zipfile.ZipFile(tmp_path / "model.pt2", "w") as package:
        package.write(library, "model/data/model.so")
        package.writestr("model/data/kernel.cubin", b"no library")
    assert has_own_runtime(tmp_path / "model.pt2") is own
