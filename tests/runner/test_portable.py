"""A second torch release next to an installed one: real pip, wheels and virtual environments."""

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from runner.portable import CannotPack, pack, unpack


def wheel(folder: Path, name: str, version: str, files: dict[str, str]) -> Path:
    """A wheel that pip takes."""
    stem = f"{name.replace('-', '_')}-{version}"
    path = folder / f"{stem}-py3-none-any.whl"
    metadata = {
        f"{stem}.dist-info/METADATA": (
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        ),
        f"{stem}.dist-info/WHEEL": (
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        ),
        f"{stem}.dist-info/RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in {**files, **metadata}.items():
            archive.writestr(file, text)
    return path


def output_of(python: str, program: str) -> str:
    return subprocess.check_output([python, "-c", program], text=True).strip()


def make_venv(folder: Path) -> str:
    """An empty virtual environment; its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return str(folder / "bin" / "python")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that is pip's only source."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    torch = {
        "torch/__init__.py": "__version__ = '2.0'",
        "torch/lib/static.a": "x" * 5000,
        "triton/backends/nvidia/bin/ptxas-blackwell": "",
    }
    wheel(folder, "torch", "2.0", torch)
    wheel(folder, "nvidia-nccl", "2.0", {"nvidia/nccl/version.py": "number = 2"})
    wheel(folder, "nvidia-cublas", "2.0", {"nvidia/cu13/lib/libcublas.so.13": "new"})
    return folder


@pytest.fixture
def installed(tmp_path: Path) -> str:
    """An interpreter with torch 1.0, libraries, and a torchvision that fits only that torch."""
    python = make_venv(tmp_path / "installed")
    site = Path(output_of(python, "import sysconfig; print(sysconfig.get_path('purelib'))"))
    files = {
        "torch/__init__.py": "__version__ = '1.0'",
        "torchvision/__init__.py": "",
        "numpy/__init__.py": "ok = True",
        "nvidia/nccl/version.py": "number = 1",
        "nvidia/curand/version.py": "number = 1",
        "nvidia/cu13/lib/libcublas.so.13": "old",
        "nvidia/cu13/lib/libcufft.so.12": "old",
        "torch-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: torch\nVersion: 1.0\n",
    }
    for name, text in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    return python


@pytest.fixture
def second(index: Path, installed: str, tmp_path: Path) -> str:
    """An interpreter with the second release next to the installed one."""
    packages = ["torch==2.0", "nvidia-nccl==2.0", "nvidia-cublas==2.0"]
    pack(packages, "3.11", tmp_path / "pieces")
    return str(unpack(tmp_path / "pieces", tmp_path / "second", installed, without=["torchvision"]))


def test_packed_release_comes_before_the_installed_one(second: str, installed: str) -> None:
    program = "import torch, importlib.metadata as m; print(torch.__version__, m.version('torch'))"
    assert output_of(second, program) == "2.0 2.0"
    assert output_of(installed, program) == "1.0 1.0"


def test_everything_else_is_shared_except_what_must_not_be(second: str) -> None:
    program = "import importlib.util as u, numpy; print(numpy.ok, u.find_spec('torchvision'))"
    assert output_of(second, program) == "True None"


def test_namespace_package_is_shared_part_by_part(second: str) -> None:
    program = (
        "import nvidia.nccl.version as n, nvidia.curand.version as c; print(n.number, c.number)"
    )
    assert output_of(second, program) == "2 1"


def test_folder_that_many_wheels_fill_is_shared_file_by_file(second: str) -> None:
    program = "import sysconfig; print(sysconfig.get_path('purelib'))"
    libraries = Path(output_of(second, program)) / "nvidia" / "cu13" / "lib"
    assert (libraries / "libcublas.so.13").read_text() == "new"
    assert (libraries / "libcufft.so.12").read_text() == "old"


def test_child_process_has_the_same_torch(second: str) -> None:
    child = "[sys.executable, '-c', 'import torch; print(torch.__version__)']"
    parent = f"import subprocess, sys; print(subprocess.check_output({child}, text=True))"
    assert output_of(second, parent) == "2.0"


def test_files_that_neither_import_nor_compile_reads_are_left_out(second: str) -> None:
    folder = Path(second).parents[1]
    assert not list(folder.rglob("static.a"))


def test_all_assemblers_of_triton_are_packed(second: str) -> None:
    """Triton 3.9 asks the one for Blackwell for its version on every GPU."""
    assert list(Path(second).parents[1].rglob("ptxas-blackwell"))


def test_no_piece_is_larger_than_requested(index: Path, tmp_path: Path) -> None:
    noise = os.urandom(3 << 20).hex()  # it compresses to half its size at best
    wheel(index, "large", "1.0", {"large/noise.txt": noise})
    pieces = pack(["large==1.0"], "3.11", tmp_path / "pieces", piece_mb=1)
    assert len(pieces) > 2
    assert max(piece.stat().st_size for piece in pieces) <= 1 << 20


def test_missing_piece_is_an_error(index: Path, installed: str, tmp_path: Path) -> None:
    wheel(index, "noise", "1.0", {"noise.py": os.urandom(6 << 20).hex()})
    first, *others = pack(["torch==2.0", "noise==1.0"], "3.11", tmp_path / "pieces", piece_mb=2)
    assert others
    first.unlink()
    with pytest.raises(CannotPack, match="Copy all of one pack into an empty folder"):
        unpack(tmp_path / "pieces", tmp_path / "second", installed)


def test_release_that_does_not_exist_is_an_error_in_the_words_of_pip(
    index: Path, tmp_path: Path
) -> None:
    with pytest.raises(CannotPack, match=r"torch==9\.9"):
        pack(["torch==9.9"], "3.11", tmp_path / "pieces")


def test_machine_without_torch_is_an_error(index: Path, tmp_path: Path) -> None:
    pack(["torch==2.0"], "3.11", tmp_path / "pieces")
    bare = make_venv(tmp_path / "bare")
    with pytest.raises(CannotPack, match="cannot be asked for its torch"):
        unpack(tmp_path / "pieces", tmp_path / "second", bare)


def test_lines_of_a_locked_file_for_that_python_are_packed(
    index: Path, installed: str, tmp_path: Path
) -> None:
    older = wheel(index, "small", "1.0", {"small.py": "v = 1.0"})
    newer = wheel(index, "small", "2.0", {"small.py": "v = 2.0"})
    lock = tmp_path / "locked.txt"
    lock.write_text(
        "# by uv\n"
        + locked_line(older, "python_full_version < '3.12'")
        + locked_line(newer, "python_full_version >= '3.12'")
    )
    pack([str(lock), "torch==2.0"], "3.12", tmp_path / "pieces")
    python = str(unpack(tmp_path / "pieces", tmp_path / "second", installed))
    assert output_of(python, "import small, torch; print(small.v, torch.__version__)") == "2.0 2.0"


def locked_line(wheel: Path, marker: str) -> str:
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    version = wheel.name.split("-")[1]
    return f"small=={version} ; {marker} \\\n    --hash=sha256:{digest}\n    # via us\n"


def test_wheel_that_is_not_the_locked_one_is_refused(index: Path, tmp_path: Path) -> None:
    (tmp_path / "locked.txt").write_text(f"torch==2.0 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(CannotPack, match="HASHES"):
        pack([str(tmp_path / "locked.txt")], "3.11", tmp_path / "pieces")


def test_missing_locked_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotPack, match=r"gone\.txt cannot be read"):
        pack(["gone.txt"], "3.11", tmp_path / "pieces")


def test_modules_in_the_data_folder_of_a_wheel_are_unpacked(
    index: Path, installed: str, tmp_path: Path
) -> None:
    files = {"apart-1.0.data/purelib/apart.py": "ok = 1", "apart-1.0.data/scripts/apart": ""}
    wheel(index, "apart", "1.0", files)
    pack(["apart==1.0", "torch==2.0"], "3.11", tmp_path / "pieces")
    python = str(unpack(tmp_path / "pieces", tmp_path / "second", installed))
    assert output_of(python, "import apart; print(apart.ok)") == "1"
