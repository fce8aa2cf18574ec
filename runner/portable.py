"""Takes packages to a machine that reaches no package index and has a torch.

They are a second torch release, or what the site needs.

  python -m runner.portable pack PIECES --python 3.12 torch==2.13.0 triton==3.7.1 \\
      nvidia-nccl-cu13==2.29.7
  python -m runner.portable pack PIECES --python 3.12 docker/requirements.txt diffusers==0.42.1
        downloads these wheels (nothing that they need: the machine has that), leaves out what
        neither an import nor a compile reads, and writes PIECES/000-of-012.tar.xz … of at most
        --piece-mb each. The first is a second release next to the installed one; the second is
        what the site and the worker need (docs/offline.md): a file, pinned and with hashes as uv
        writes them, gives the lines that hold for that Python
  python -m runner.portable unpack PIECES FOLDER --beside /usr/bin/python3 \\
      [--without torchvision ...]
        on the machine: FOLDER becomes a virtual environment with these wheels in front of all that
        the installed one has, linked and not copied; --without names what must not be linked, such
        as a torchvision that fits the other release

FOLDER/bin/python with a second release is an environment like any other: give it to the worker as
SUITE_PYTHON, or run `FOLDER/bin/python -m benchmarks_suite` with it. Pieces may travel one by one;
unpack needs all of them.
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
PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in range(28, 16, -1)]
PLATFORMS += ["manylinux2014_x86_64", "any"]
LEFT_OUT = (  # neither an import nor a compile reads these
    "*.a",
    "*.pyi",
    "torch/bin/protoc*",
    "torch/bin/test_*",
    "torch/share/*",
    "triton/instrumentation/*",
    "triton/backends/nvidia/lib/cupti/*_static.a",
    "*.data/scripts/*",
    "*.data/data/*",
    "*.data/headers/*",
)
MODULES = re.compile(r"^[^/]+\.data/(purelib|platlib)/")  # a wheel may keep its modules there
# Folders that many wheels share: nvidia, and since CUDA 13 nvidia/cu13/lib and its neighbours
SHARED = re.compile(r"nvidia|cu\d+|lib|include|bin")
FIND_TORCH = "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"


class CannotPack(Exception):
    """The wheels could not be downloaded, or the pieces do not fit. The text says which."""


def pack(
    requirements: Sequence[str], python: str, pieces: Path, piece_mb: int = PIECE_MB
) -> list[Path]:
    """Write the wheels of `requirements` for `python` ("3.12") on x86-64 Linux as pieces.

    requirements: as pip takes them, and names of locked files (*.txt). Each piece, of at most
    `piece_mb` MiB, is a whole .xz file, so that they are packed and unpacked in parallel; their
    contents, one after the other, are one tar file. Raises CannotPack.
    """
    pieces.mkdir(parents=True, exist_ok=True)
    locked_files = [word for word in requirements if word.endswith(".txt")]
    named = [word for word in requirements if not word.endswith(".txt")]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        selected = folder / "selected.txt"
        for file in locked_files:
            selected.write_text("\n".join(_lines_for_python(python, Path(file))))
            _download(["--require-hashes", "--requirement", str(selected)], python, folder)
        if named:
            _download(named, python, folder)
        tar = folder / "all.tar"
        with tarfile.open(tar, "w") as archive:
            for wheel in sorted(folder.glob("*.whl")):
                _add_wheel(archive, wheel)
        return _compress(tar, pieces, piece_mb << 20)


def _lines_for_python(python: str, file: Path) -> Iterator[str]:
    """The lines of a locked file whose markers hold for `python`.

    pip would evaluate the markers for the Python that runs it.
    """
    from packaging.requirements import Requirement  # the machine that unpacks may lack it

    target = {"python_version": python, "python_full_version": f"{python}.0"}
    try:
        text = file.read_text().replace("\\\n", " ")  # continued lines joined
    except OSError as error:
        raise CannotPack(f"the requirements {file} cannot be read: {error.strerror}") from error
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        pinned, hashes, digests = line.partition("--hash=")
        requirement = Requirement(pinned)
        if requirement.marker is None or requirement.marker.evaluate(target):
            yield f"{requirement.name}{requirement.specifier} {hashes}{digests}"


def _download(requirements: Sequence[str], python: str, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary=:all:", "--dest", str(folder), "--python-version", python]
    for platform in PLATFORMS:
        command += ["--platform", platform]
    process = subprocess.run([*command, *requirements], capture_output=True, text=True, check=False)
    if process.returncode:
        raise CannotPack(
            f"pip cannot download {' '.join(requirements)} for Python {python}:\n"
            f"{process.stderr.strip()}"
        )


def _add_wheel(archive: tarfile.TarFile, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as content:
        for entry in content.infolist():
            name = entry.filename
            if entry.is_dir() or any(fnmatch.fnmatch(name, pattern) for pattern in LEFT_OUT):
                continue
            member = tarfile.TarInfo(MODULES.sub("", name))
            member.size = entry.file_size
            # ptxas and torch_shm_manager are programs
            is_executable = entry.external_attr >> 16 & 0o111
            member.mode = 0o755 if is_executable else 0o644
            with content.open(entry) as file:
                archive.addfile(member, file)


def _compress(tar: Path, pieces: Path, limit: int) -> list[Path]:
    """Cut the tar file into parts, compress each, and halve what stays above the limit.

    A part has twice the limit's size before it is compressed.
    """
    size, part = tar.stat().st_size, 2 * limit
    spans = [(start, min(start + part, size)) for start in range(0, size, part)]
    contents: list[bytes] = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for compressed in pool.map(lambda span: _compressed(tar, span, limit), spans):
            contents += compressed
    paths = []
    for number, content in enumerate(contents):
        path = pieces / f"{number:03d}-of-{len(contents):03d}.tar.xz"
        path.write_bytes(content)
        paths.append(path)
    return paths


def _compressed(tar: Path, span: tuple[int, int], limit: int) -> list[bytes]:
    start, end = span
    with tar.open("rb") as file:
        file.seek(start)
        content = lzma.compress(file.read(end - start), preset=PRESET)
    if len(content) <= limit:
        return [content]
    middle = (start + end) // 2
    return [*_compressed(tar, (start, middle), limit), *_compressed(tar, (middle, end), limit)]


def unpack(pieces: Path, folder: Path, beside: str, without: Iterable[str] = ()) -> Path:
    """Make `folder` a virtual environment with the packed wheels; returns its interpreter.

    Everything else that is installed next to the torch of the interpreter `beside` is linked.
    Raises CannotPack.
    """
    files = _all_pieces(pieces)
    torch = Path(_ask(beside, FIND_TORCH))
    base = _ask(beside, "import sys; print(sys._base_executable)")
    subprocess.run([base, "-m", "venv", "--without-pip", "--clear", str(folder)], check=True)
    python = folder / "bin" / "python"
    site = Path(_ask(str(python), "import sysconfig; print(sysconfig.get_path('purelib'))"))
    with tempfile.TemporaryFile(dir=folder) as tar:
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # lzma lets other threads run
            for part in pool.map(lambda file: lzma.decompress(file.read_bytes()), files):
                tar.write(part)
        tar.seek(0)
        with tarfile.open(fileobj=tar) as archive:
            archive.extractall(site, filter="data")
    _link(torch.parent, site, without)
    return python


def _all_pieces(folder: Path) -> list[Path]:
    """The pieces in their order: where one is missing, tar would end at the gap without a word."""
    files = sorted(folder.glob("*.tar.xz"))
    if not files:
        raise CannotPack(f"no pieces (*.tar.xz) lie in {folder}")
    said = re.search(r"-of-(\d+)\.", files[-1].name)
    if said is None or int(said[1]) != len(files):
        raise CannotPack(
            f"{folder} has {len(files)} pieces, where the name of {files[-1].name} says how many "
            "belong together: some are missing, or of another pack. Copy all of one pack into an "
            "empty folder, or pack again"
        )
    return files


def _ask(python: str, program: str) -> str:
    """What an interpreter prints that runs `program`."""
    process = subprocess.run([python, "-c", program], capture_output=True, text=True, check=False)
    if process.returncode:
        raise CannotPack(
            f"{python} cannot be asked for its torch: {process.stderr.strip().splitlines()[-1]}"
        )
    return process.stdout.strip()


def _link(installed: Path, site: Path, without: Iterable[str]) -> None:
    """Link what is installed, neither packed nor unwanted.

    Of a folder that many wheels share its parts are linked. A wheel's *.dist-info is treated as its
    package is: a release's metadata never describes the files of another one.
    """
    hidden = {_project(entry.name) for entry in site.iterdir()} | set(without)
    for entry in installed.iterdir():
        if entry.is_dir() and SHARED.fullmatch(entry.name):
            (site / entry.name).mkdir(exist_ok=True)
            _link(entry, site / entry.name, ())
            continue
        is_technical = entry.suffix == ".pth" or entry.name == "__pycache__"
        if _project(entry.name) not in hidden and not is_technical:
            (site / entry.name).symlink_to(entry)


def _project(entry: str) -> str:
    """The name that a wheel's folder, module and metadata have in common."""
    return entry.partition("-")[0].partition(".")[0]


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    try:
        if options.command == "pack":
            paths = pack(options.requirements, options.python, options.pieces, options.piece_mb)
            total_bytes = sum(path.stat().st_size for path in paths)
            answer = f"{len(paths)} pieces, {total_bytes >> 20} MiB"
        else:
            answer = str(unpack(options.pieces, options.folder, options.beside, options.without))
    except CannotPack as error:
        sys.stderr.write(f"runner.portable: {error}\n")
        return 1
    sys.stdout.write(answer + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m runner.portable",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    pack_command = commands.add_parser("pack", help="where there is a package index")
    pack_command.add_argument("pieces", type=Path)
    pack_command.add_argument(
        "requirements", nargs="+", help="as pip takes them, or a locked file: *.txt"
    )
    pack_command.add_argument(
        "--python", required=True, help="the Python of the other machine, such as 3.12"
    )
    pack_command.add_argument(
        "--piece-mb", type=int, default=PIECE_MB, help="largest piece in MiB (default: %(default)s)"
    )
    unpack_command = commands.add_parser("unpack", help="where there is none")
    unpack_command.add_argument("pieces", type=Path)
    unpack_command.add_argument("folder", type=Path)
    unpack_command.add_argument(
        "--beside", default=sys.executable, help="the interpreter that has a torch"
    )
    unpack_command.add_argument(
        "--without", nargs="*", default=[], help="what must not be linked, by its folder's name"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
