"""The code that the compiler generated: its fingerprints, and the artifact that keeps it.

Wrapper (what calls the kernels), kernels (Triton or C++ source) and binaries (PTX, cubin) are kept
apart, because a change of one alone says who changed. Names, paths, hashes and debug sections are
taken out first: they differ between two compilations of the same thing, whose caches lie in other
folders.
"""

import hashlib
import io
import re
import struct
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ARTIFACT = "generated-code.tar.xz"
MAX_ARTIFACT_BYTES = 64 * 1024 * 1024
_KINDS = ("wrapper", "kernels", "ptx", "cubin")
_PYTHON_COMMENT = re.compile(r"^\s*#.*$", re.M)  # in C++ such a line is code
_NOISE = (
    (re.compile(r"^\s*//.*$", re.M), ""),  # comments: source nodes, AOT ids, paths
    # In PTX: the source's path, byte by byte
    (re.compile(r"\.section\s+\.debug_\w+\s*\{.*?\}", re.S), ""),
    (re.compile(r"^\s*\.(loc|file|section)\b.*$", re.M), ""),
    (re.compile(r"/[\w.+-]+(?:/[\w.+-]+)+"), "PATH"),
    (re.compile(r"\bc[a-z2-7]{51}\b|\b[0-9a-fA-F]{32,64}\b|\b[A-Z2-7]{52}\b"), "HASH"),
    (re.compile(r"\b0x[0-9a-f]{8,}\b"), "ADDRESS"),
    (re.compile(r"\s+$", re.M), ""),
)
_NO_CONTENT = 8  # SHT_NOBITS of elf(5)
# In a wrapper: the kernels' source, which is counted as theirs
_QUOTED_SOURCE = re.compile(r"'''.*?'''", re.S)


@dataclass(frozen=True)
class CodeFile:
    """A generated file; name: what it is called in the artifact."""

    kind: str
    path: Path
    name: str


class GeneratedCode:
    """Files that appear in the compiler caches after this object was made."""

    def __init__(self, *folders: Path) -> None:
        self._folders = folders
        self._before = set(self._paths())

    def files(self) -> list[CodeFile]:
        """The generated files by kind, in the order of their contents: names do not matter."""
        by_kind: dict[str, list[Path]] = {kind: [] for kind in _KINDS}
        for path in self._paths():
            if path in self._before or not path.is_file():
                continue
            kind = _kind(path)
            if kind:
                by_kind[kind].append(path)

        files: list[CodeFile] = []
        for kind, paths in by_kind.items():
            for path in sorted(paths, key=lambda path: _digest(kind, path)):
                files.append(CodeFile(kind, path, f"{kind}/{len(files):04d}{path.suffix}"))
        return files

    def fingerprints(self) -> dict[str, str | None]:
        """Kind -> SHA-256 (first 16 hex digits) of its files, each normalized; None for no file."""
        digests: dict[str, str] = dict.fromkeys(_KINDS, "")
        for file in self.files():
            digests[file.kind] += _digest(file.kind, file.path)
        fingerprints: dict[str, str | None] = dict.fromkeys(_KINDS)
        for kind, text in digests.items():
            if text:
                fingerprints[kind] = hashlib.sha256(text.encode()).hexdigest()[:16]
        return fingerprints

    def size_bytes(self) -> int | None:
        """Count the sources' bytes, less what differs between two compilations; None: no source."""
        texts = [
            normalized(file.path.read_text(encoding="utf-8", errors="replace"))
            for file in self.files()
            if file.kind in ("wrapper", "kernels")
        ]
        return sum(len(text.encode()) for text in texts) if texts else None

    def save(self, path: Path) -> bool:
        """Writes the sources (not the binaries) as .tar.xz.

        False where there are none or they would be too large.
        """
        packed = io.BytesIO()
        sources = [file for file in self.files() if file.kind != "cubin"]
        with tarfile.open(fileobj=packed, mode="w:xz", preset=2) as archive:
            for file in sources:
                body = file.path.read_bytes()
                entry = tarfile.TarInfo(file.name)
                entry.size = len(body)
                archive.addfile(entry, io.BytesIO(body))
        if not sources or packed.tell() > MAX_ARTIFACT_BYTES:
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(packed.getvalue())
        return True

    def _paths(self) -> Iterator[Path]:
        for folder in self._folders:
            yield from folder.rglob("*")


def normalized(text: str) -> str:
    """``text`` without what differs between two compilations of the same thing."""
    for pattern, replacement in _NOISE:
        text = pattern.sub(replacement, text)
    return re.sub(r"\n+", "\n", text).strip()


def _kind(path: Path) -> str | None:
    if path.suffix in (".ptx", ".cubin"):
        return path.suffix[1:]
    if path.suffix not in (".py", ".cpp"):
        return None
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".cpp":
        is_wrapper = "inductor_entry_cpp" in text or "AOTInductorModel" in text
        return "wrapper" if is_wrapper else "kernels"
    if "def call(" in text:
        return "wrapper"
    return "kernels" if "@triton.jit" in text else None


def _digest(kind: str, path: Path) -> str:
    if kind == "cubin":
        return hashlib.sha256(without_debug_sections(path.read_bytes())).hexdigest()
    text = path.read_text(encoding="utf-8", errors="replace")
    if kind == "wrapper":
        text = _QUOTED_SOURCE.sub("", text)
    if path.suffix == ".py":
        text = _PYTHON_COMMENT.sub("", text)
    return hashlib.sha256(normalized(text).encode()).hexdigest()


def without_debug_sections(binary: bytes) -> bytes:
    """Names and contents of a cubin's sections but for debug's, which say where the source lay.

    The format is 64-bit ELF, elf(5). What is not an ELF file comes back as it is.
    """
    if not binary.startswith(b"\x7fELF"):
        return binary
    (table,) = struct.unpack_from("<Q", binary, 40)
    size, count, of_names = struct.unpack_from("<HHH", binary, 58)
    headers = [struct.unpack_from("<IIQQQQ", binary, table + i * size) for i in range(count)]
    names_at = headers[of_names][4]
    kept = []
    for name_at, kind, _, _, offset, length in headers:
        start = names_at + name_at
        name = binary[start : binary.index(b"\0", start)]
        if b"debug" in name:
            continue
        contents = b"" if kind == _NO_CONTENT else binary[offset : offset + length]
        kept += [name, contents]
    return b"\0".join(kept)
