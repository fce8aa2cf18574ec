"""What was measured on both sides of an alert as one archive, with a list of its contents. Pure."""

import json
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO, Any

from dashboard.language.contracts import Refused

MANIFEST = "MANIFEST.json"
_ROOM_FOR_MANIFEST = 64 * 1024  # bytes
_MIB = 2**20


@dataclass(frozen=True, slots=True)
class BundleFile:
    """A file of the archive. read: its bytes; may raise OSError or Refused.

    what: in words.
    job: whose it is; empty for what is made of both sides.
    """

    name: str
    what: str
    job: str
    read: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class BundleFolder:
    """A folder of the archive, whose files are known once it is read: name in it -> bytes.

    name: with a slash at its end; else as of `BundleFile`.
    """

    name: str
    what: str
    job: str
    read: Callable[[], dict[str, bytes]]


Content = BundleFile | BundleFolder


@dataclass(frozen=True, slots=True)
class Missing:
    """What the archive does not have, and why."""

    what: str
    why: str


def pack(
    target: IO[bytes],
    files: Sequence[Content],
    missing: Sequence[Missing],
    about: dict[str, Any],
    limit_bytes: int,
) -> list[Missing]:
    """Write the archive, at most `limit_bytes` long; returns what is missing in the end.

    What does not fit any more, or cannot be read, is missing: the first files matter most.
    """
    absent = list(missing)
    contents = []
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            try:
                bodies = _bodies(file)
            except (OSError, Refused) as error:
                absent.append(Missing(file.name, str(error)))
                continue
            for name, body in bodies.items():
                room = limit_bytes - target.tell() - _ROOM_FOR_MANIFEST
                if len(body) > room and _packed_bytes(body) > room:
                    absent.append(Missing(name, _too_large(len(body), limit_bytes)))
                    continue
                archive.writestr(name, body)
                contents.append(
                    {"name": name, "what": file.what, "job": file.job, "bytes": len(body)}
                )
        manifest = {
            **about,
            "files": contents,
            "missing": [{"what": each.what, "why": each.why} for each in absent],
        }
        archive.writestr(MANIFEST, json.dumps(manifest, indent=2, ensure_ascii=False))
    return absent


def _bodies(content: Content) -> dict[str, bytes]:
    """Name in the archive -> bytes."""
    if isinstance(content, BundleFile):
        return {content.name: content.read()}
    return {f"{content.name}{name}": body for name, body in content.read().items()}


def _packed_bytes(body: bytes) -> int:
    """How much of the archive it takes. It is packed once more for that: traces shrink to a tenth,
    and most others fit without.
    """
    return len(zlib.compress(body))


def _too_large(size: int, limit: int) -> str:
    return (
        f"It is {size / _MIB:.1f} MiB and would make the archive larger than "
        f"{limit / _MIB:.0f} MiB (EVIDENCE_LIMIT_MIB)."
    )


def public_environment(document: dict[str, Any]) -> dict[str, Any]:
    """An environment without the names of the machine and of its device."""
    machine = dict(document.get("machine", {}))
    machine.pop("host", None)
    machine.pop("device_id", None)
    return {**document, "machine": machine}
