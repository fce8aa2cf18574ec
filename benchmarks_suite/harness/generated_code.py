"""The code that the compiler generated: its fingerprints, and the artifact that keeps it.

Wrapper (what calls the kernels), kernels (Triton or C++ source) and binaries (PTX, cubin) are told
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
    # Of PTX: the source's path, byte by byte
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
    kind: str
    path: Path
    name: str


class GeneratedCode:
    """What appears in the compiler caches after it was made."""

    def __init__(self, *folders: Path) -> None:
        self._folders = folders
        self._before = {path for folder in folders for path in folder.rglob("*")}

    def files(self) -> list[CodeFile]:
        """The generated files, by kind, in the order of their normalized contents, so that names do
        not matter.
        """
        found = [CodeFile(kind, path, "") for path in self._new() if (kind := _kind(path))]
        found.sort(key=lambda file: (_KINDS.index(file.kind), _digest(file)))
        return [
            CodeFile(file.kind, file.path, f"{file.kind}/{index:04d}{file.path.suffix}")
            for index, file in enumerate(found)
        ]

    def fingerprints(self) -> dict[str, str | None]:
        """Kind -> SHA-256 (first 16 hex digits) of its files, each normalized; None where there are
        none.
        """
        digests: dict[str, list[str]] = {kind: [] for kind in _KINDS}
        for file in self.files():
            digests[file.kind].append(_digest(file))
        return {
            kind: hashlib.sha256("".join(found).encode()).hexdigest()[:16] if found else None
            for kind, found in digests.items()
        }

    def save(self, path: Path) -> bool:
        """Writes the sources (not the binaries) as .tar.xz; False where there are none or they
        would be too large.
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

    def _new(self) -> Iterator[Path]:
        for folder in self._folders:
            yield from (
                path for path in folder.rglob("*") if path not in self._before and path.is_file()
            )


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
    if path.suffix == ".py":
        return "wrapper" if "def call(" in text else "kernels" if "@triton.jit" in text else None
    return "wrapper" if "inductor_entry_cpp" in text or "AOTInductorModel" in text else "kernels"


def _digest(file: CodeFile) -> str:
    if file.kind == "cubin":
        return hashlib.sha256(without_debug_sections(file.path.read_bytes())).hexdigest()
    text = file.path.read_text(encoding="utf-8", errors="replace")
    if file.kind == "wrapper":
        text = _QUOTED_SOURCE.sub("", text)
    if file.path.suffix == ".py":
        text = _PYTHON_COMMENT.sub("", text)
    return hashlib.sha256(normalized(text).encode()).hexdigest()


def without_debug_sections(binary: bytes) -> bytes:
    """Names and contents of a cubin's sections but for debug's, which tell where the source lay:
    64-bit ELF, elf(5).

    What is no ELF file comes back as it is.
    """
    if not binary.startswith(b"\x7fELF"):
        return binary
    (table,) = struct.unpack_from("<Q", binary, 40)
    size, count, of_names = struct.unpack_from("<HHH", binary, 58)
    headers = [
        struct.unpack_from("<IIQQQQ", binary, table + index * size) for index in range(count)
    ]
    kept = []
    for name_at, kind, _, _, offset, length in headers:
        start = headers[of_names][4] + name_at
        name = binary[start : binary.index(b"\0", start)]
        if b"debug" not in name:
            kept += [name, b"" if kind == _NO_CONTENT else binary[offset : offset + length]]
    return b"\0".join(kept)
