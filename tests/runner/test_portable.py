"""A second torch release beside an installed one, with real pip, wheels and virtual
environments.
"""

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from runner.portable import CannotPack, pack, unpack


def wheel(folder: Path, name: str, version: str, files: dict[str, str]) -> Path:
    """A wheel that pip takes."""
    about = f"{name.replace('-', '_')}-{version}.dist-info"
    path = folder / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    metadata = {
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: "
        "py3-none-any\n",
        f"{about}/RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in {**files, **metadata}.items():
            archive.writestr(file, text)
    return path


def python_of(folder: Path) -> str:
    return str(folder / "bin" / "python")


def says(python: str, program: str) -> str:
    return subprocess.run(
        [python, "-c", program], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that is pip's only source."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    wheel(
        folder,
        "torch",
        "2.0",
        {"torch/__init__.py": "__version__ = '2.0'", "torch/lib/static.a": "x" * 5000},
    )
    wheel(folder, "nvidia-nccl", "2.0", {"nvidia/nccl/version.py": "number = 2"})
    return folder


@pytest.fixture
def installed(tmp_path: Path) -> str:
    """An interpreter with torch 1.0, libraries beside it, and a torchvision that fits only that
    torch.
    """
    folder = tmp_path / "installed"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    site = Path(says(python_of(folder), "import sysconfig; print(sysconfig.get_path('purelib'))"))
    for name, text in {
        "torch/__init__.py": "__version__ = '1.0'",
        "torchvision/__init__.py": "",
        "numpy/__init__.py": "ok = True",
        "nvidia/nccl/version.py": "number = 1",
        "nvidia/cublas/version.py": "number = 1",
        "torch-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: torch\nVersion: 1.0\n",
    }.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    return python_of(folder)


def a_second_release(index: Path, installed: str, tmp_path: Path) -> str:
    pack(["torch==2.0", "nvidia-nccl==2.0"], "3.11", tmp_path / "pieces")
    return str(unpack(tmp_path / "pieces", tmp_path / "second", installed, without=["torchvision"]))


def test_the_packed_release_comes_before_the_installed_one(
    index: Path, installed: str, tmp_path: Path
) -> None:
    second = a_second_release(index, installed, tmp_path)
    told = "import torch, importlib.metadata as m; print(torch.__version__, m.version('torch'))"
    assert says(second, told) == "2.0 2.0"
    assert says(installed, told) == "1.0 1.0"


def test_everything_else_is_shared_but_what_must_not_be(
    index: Path, installed: str, tmp_path: Path
) -> None:
    second = a_second_release(index, installed, tmp_path)
    told = "import importlib.util as u, numpy; print(numpy.ok, u.find_spec('torchvision'))"
    assert says(second, told) == "True None"


def test_a_namespace_package_is_shared_part_by_part(
    index: Path, installed: str, tmp_path: Path
) -> None:
    second = a_second_release(index, installed, tmp_path)
    told = "import nvidia.nccl.version as n, nvidia.cublas.version as c; print(n.number, c.number)"
    assert says(second, told) == "2 1"


def test_a_child_process_of_it_has_the_same_torch(
    index: Path, installed: str, tmp_path: Path
) -> None:
    second = a_second_release(index, installed, tmp_path)
    child = (
        "import subprocess, sys; print(subprocess.check_output([sys.executable, '-c', "
        "'import torch; print(torch.__version__)'], text=True))"
    )
    assert says(second, child) == "2.0"


def test_what_neither_import_nor_compile_reads_is_left_out(
    index: Path, installed: str, tmp_path: Path
) -> None:
    second = Path(a_second_release(index, installed, tmp_path)).parents[1]
    assert not list(second.rglob("static.a"))


def test_no_piece_is_larger_than_asked(index: Path, tmp_path: Path) -> None:
    noise = Path("/dev/urandom").open("rb").read(3 << 20).hex()  # noqa: SIM115 - hex of noise halves at best
    wheel(index, "large", "1.0", {"large/noise.txt": noise})
    pieces = pack(["large==1.0"], "3.11", tmp_path / "pieces", piece_mb=1)
    assert len(pieces) > 2
    assert max(piece.stat().st_size for piece in pieces) <= 1 << 20


def test_a_release_that_does_not_exist_is_told_in_pips_words(index: Path, tmp_path: Path) -> None:
    with pytest.raises(CannotPack, match=r"torch==9\.9"):
        pack(["torch==9.9"], "3.11", tmp_path / "pieces")


def test_a_machine_without_torch_is_told_so(index: Path, tmp_path: Path) -> None:
    pack(["torch==2.0"], "3.11", tmp_path / "pieces")
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True
    )
    with pytest.raises(CannotPack, match="cannot be asked for its torch"):
        unpack(tmp_path / "pieces", tmp_path / "second", python_of(tmp_path / "bare"))


def test_of_a_locked_file_the_lines_for_that_python_are_packed(
    index: Path, installed: str, tmp_path: Path
) -> None:
    older, newer = (
        wheel(index, "small", version, {"small.py": f"v = {version}"}) for version in ("1.0", "2.0")
    )
    told = [(older, "python_full_version < '3.12'"), (newer, "python_full_version >= '3.12'")]
    lock = tmp_path / "locked.txt"
    lock.write_text("# by uv\n" + "".join(locked_line(*each) for each in told))
    pack([str(lock), "torch==2.0"], "3.12", tmp_path / "pieces")
    python = unpack(tmp_path / "pieces", tmp_path / "beside", installed)
    assert says(str(python), "import small, torch; print(small.v, torch.__version__)") == "2.0 2.0"


def locked_line(wheel: Path, marker: str) -> str:
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return (
        f"small=={wheel.name.split('-')[1]} ; {marker} \\\n    --hash=sha256:{digest}\n    # "
        "via us\n"
    )


def test_a_wheel_that_is_not_the_locked_one_is_refused(index: Path, tmp_path: Path) -> None:
    (tmp_path / "locked.txt").write_text(f"torch==2.0 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(CannotPack, match="HASHES"):
        pack([str(tmp_path / "locked.txt")], "3.11", tmp_path / "pieces")


def test_a_locked_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotPack, match=r"gone\.txt cannot be read"):
        pack(["gone.txt"], "3.11", tmp_path / "pieces")


def test_modules_that_a_wheel_keeps_apart_are_unpacked_where_they_belong(
    index: Path, installed: str, tmp_path: Path
) -> None:
    wheel(
        index,
        "apart",
        "1.0",
        {"apart-1.0.data/purelib/apart.py": "ok = 1", "apart-1.0.data/scripts/apart": ""},
    )
    pack(["apart==1.0", "torch==2.0"], "3.11", tmp_path / "pieces")
    python = unpack(tmp_path / "pieces", tmp_path / "beside", installed)
    assert says(str(python), "import apart; print(apart.ok)") == "1"
