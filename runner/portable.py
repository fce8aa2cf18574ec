"""Takes packages to a machine that reaches no package index and has a torch: a second release, or
the site.

  python -m runner.portable pack PIECES --python 3.12 torch==2.13.0 triton==3.7.1
  nvidia-nccl-cu13==2.29.7 python -m runner.portable pack PIECES --python 3.12
  docker/requirements.txt diffusers==0.42.1
        downloads these wheels (nothing that they need: the machine has that), leaves out what
        neither an import nor a compile reads, and writes PIECES/000.tar.xz … of at most --piece-mb
        each. The first is a second release beside the installed one; the second is what the site
        and the worker need (docs/offline.md): a file, pinned and with hashes as uv writes them,
        gives the lines that hold for that Python
  python -m runner.portable unpack PIECES FOLDER --beside /usr/bin/python3 [--without torchvision
  ...]
        on the machine: FOLDER becomes a virtual environment with these wheels in front of all that
        the installed one has, linked and not copied; --without names what must not be linked, such
        as a torchvision that fits the other release

FOLDER/bin/python with a second release is an environment like any other: give it to the worker as
SUITE_PYTHON, or run `FOLDER/bin/python -m benchmarks_suite` with it. Pieces may travel one by one;
unpack wants all of them.
"""

import argparse
import fnmatch
import lzma
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PIECE_MB = 60
PRESET = 6  # of xz: some minutes for the wheels of the site
PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in range(28, 16, -1)] + [
    "manylinux2014_x86_64",
    "any",
]
LEFT_OUT = (  # neither an import nor a compile reads these
    "*.a",
    "*.pyi",
    "torch/bin/protoc*",
    "torch/bin/test_*",
    "torch/share/*",
    "triton/instrumentation/*",
    "triton/backends/nvidia/bin/ptxas-blackwell",
    "triton/backends/nvidia/lib/cupti/*_static.a",
    "*.data/scripts/*",
    "*.data/data/*",
    "*.data/headers/*",
)
MODULES = re.compile(r"^[^/]+\.data/(purelib|platlib)/")  # a wheel may keep its modules there
NAMESPACES = {"nvidia"}  # folders that many wheels share


class CannotPack(Exception):
    """The wheels could not be had, or the pieces do not fit; the text says which, and what to
    do.
    """


def pack(
    requirements: Sequence[str], python: str, pieces: Path, piece_mb: int = PIECE_MB
) -> list[Path]:
    """Write the wheels of `requirements` for `python` ("3.12") on x86-64 Linux as pieces of at most
    `piece_mb` MiB.

    requirements: as pip takes them, and names of locked files (*.txt). Each piece is a whole .xz
        file, so that they
    are packed and unpacked in parallel; their contents, one after the other, are one tar file.
    Raises CannotPack.
    """
    pieces.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        wheels, chosen = Path(folder), Path(folder) / "chosen.txt"
        for file in (Path(each) for each in requirements if each.endswith(".txt")):
            chosen.write_text("\n".join(_meant_for(python, file)))
            _download(["--require-hashes", "--requirement", str(chosen)], python, wheels)
        if named := [each for each in requirements if not each.endswith(".txt")]:
            _download(named, python, wheels)
        tar = Path(folder) / "all.tar"
        with tarfile.open(tar, "w") as archive:
            for wheel in sorted(wheels.glob("*.whl")):
                _add_wheel(archive, wheel)
        return _compress(tar, pieces, piece_mb << 20)


def _meant_for(python: str, file: Path) -> Iterator[str]:
    """The lines of a locked file whose markers hold for `python`: pip asks markers of the Python
    that runs it.
    """
    from packaging.requirements import Requirement  # the machine that unpacks may lack it

    target = {"python_version": python, "python_full_version": f"{python}.0"}
    for line in _lines(file):
        pinned, hashes, digests = line.partition("--hash=")
        wanted = Requirement(pinned)
        if wanted.marker is None or wanted.marker.evaluate(target):
            yield f"{wanted.name}{wanted.specifier} {hashes}{digests}"


def _lines(file: Path) -> list[str]:
    try:
        text = file.read_text().replace("\\\n", " ")
    except OSError as error:
        raise CannotPack(f"the requirements {file} cannot be read: {error.strerror}") from error
    return [
        line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")
    ]


def _download(requirements: Sequence[str], python: str, folder: Path) -> None:
    platforms = [word for name in PLATFORMS for word in ("--platform", name)]
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--dest",
        str(folder),
        "--python-version",
        python,
        *platforms,
        *requirements,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotPack(
            f"pip cannot download {' '.join(requirements)} for Python "
            f"{python}:\n{done.stderr.strip()}"
        )


def _add_wheel(archive: tarfile.TarFile, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as content:
        for entry in content.infolist():
            if entry.is_dir() or any(
                fnmatch.fnmatch(entry.filename, pattern) for pattern in LEFT_OUT
            ):
                continue
            described = tarfile.TarInfo(MODULES.sub("", entry.filename))
            described.size = entry.file_size
            # Ptxas and torch_shm_manager run
            described.mode = 0o755 if entry.external_attr >> 16 & 0o111 else 0o644
            with content.open(entry) as file:
                archive.addfile(described, file)


def _compress(tar: Path, pieces: Path, limit: int) -> list[Path]:
    """Cut the tar file into parts of twice the limit, compress each, and halve what stays above the
    limit.
    """
    size, part = tar.stat().st_size, 2 * limit
    spans = [(start, min(start + part, size)) for start in range(0, size, part)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        compressed = [
            each
            for found in pool.map(lambda span: _compressed(tar, span, limit), spans)
            for each in found
        ]
    return [
        _written(pieces / f"{number:03d}.tar.xz", content)
        for number, content in enumerate(compressed)
    ]


def _compressed(tar: Path, span: tuple[int, int], limit: int) -> list[bytes]:
    start, end = span
    with tar.open("rb") as file:
        file.seek(start)
        content = lzma.compress(file.read(end - start), preset=PRESET)
    if len(content) <= limit:
        return [content]
    middle = (start + end) // 2
    return [*_compressed(tar, (start, middle), limit), *_compressed(tar, (middle, end), limit)]


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def unpack(pieces: Path, folder: Path, beside: str, without: Iterable[str] = ()) -> Path:
    """Make `folder` a virtual environment of the interpreter `beside` with the packed wheels; its
    interpreter.

    Everything else that the interpreter's own torch stands among is linked. Raises CannotPack.
    """
    found = sorted(pieces.glob("*.tar.xz"))
    if not found:
        raise CannotPack(f"no pieces (*.tar.xz) lie in {pieces}")
    own = Path(
        _answer(
            beside,
            "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])",
        )
    )
    base = _answer(beside, "import sys; print(sys._base_executable)")
    subprocess.run([base, "-m", "venv", "--without-pip", "--clear", str(folder)], check=True)
    python = folder / "bin" / "python"
    site = Path(_answer(str(python), "import sysconfig; print(sysconfig.get_path('purelib'))"))
    with tempfile.TemporaryFile(dir=folder) as tar:
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # lzma lets other threads run
            for part in pool.map(lambda piece: lzma.decompress(piece.read_bytes()), found):
                tar.write(part)
        tar.seek(0)
        with tarfile.open(fileobj=tar) as archive:
            archive.extractall(site, filter="data")
    _link(own.parent, site, without)
    return python


def _answer(python: str, program: str) -> str:
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotPack(
            f"{python} cannot be asked for its torch: {done.stderr.strip().splitlines()[-1]}"
        )
    return done.stdout.strip()


def _link(installed: Path, site: Path, without: Iterable[str]) -> None:
    """Link what is installed and neither packed nor unwanted; of a namespace package such as
    `nvidia` its parts.

    A wheel's *.dist-info goes where its package goes: a release's metadata never tells of another
    one's files.
    """
    hidden = {_name(entry.name) for entry in site.iterdir()} - NAMESPACES | set(without)
    for entry in installed.iterdir():
        if entry.name in NAMESPACES:
            (site / entry.name).mkdir(exist_ok=True)
            _link(entry, site / entry.name, ())
        elif (
            _name(entry.name) not in hidden
            and entry.suffix != ".pth"
            and entry.name != "__pycache__"
        ):
            (site / entry.name).symlink_to(entry)


def _name(entry: str) -> str:
    """The name by which a wheel's folder, module or metadata belongs together."""
    return entry.partition("-")[0].partition(".")[0]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m runner.portable",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack", help="where there is a package index")
    packing.add_argument("pieces", type=Path)
    packing.add_argument(
        "requirements", nargs="+", help="as pip takes them, or a locked file: *.txt"
    )
    packing.add_argument(
        "--python", required=True, help="the Python of the other machine, such as 3.12"
    )
    packing.add_argument(
        "--piece-mb", type=int, default=PIECE_MB, help="largest piece in MiB (default: %(default)s)"
    )
    unpacking = commands.add_parser("unpack", help="where there is none")
    unpacking.add_argument("pieces", type=Path)
    unpacking.add_argument("folder", type=Path)
    unpacking.add_argument(
        "--beside", default=sys.executable, help="the interpreter that has a torch"
    )
    unpacking.add_argument(
        "--without", nargs="*", default=[], help="what must not be linked, by its folder's name"
    )
    given = parser.parse_args(arguments)
    try:
        if given.command == "pack":
            written = pack(given.requirements, given.python, given.pieces, given.piece_mb)
            answer = (
                f"{len(written)} pieces, {sum(path.stat().st_size for path in written) >> 20} MiB"
            )
        else:
            answer = str(unpack(given.pieces, given.folder, given.beside, given.without))
    except CannotPack as error:
        sys.stderr.write(f"runner.portable: {error}\n")
        return 1
    sys.stdout.write(answer + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
