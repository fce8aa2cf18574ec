"""The files of an alert's report as one zip. Pure."""

import zipfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import IO, Any

from dashboard.language.contracts import Refused

LIMIT_MIB = 24  # GitHub takes 25 MB
LEFT_OUT = "left-out.txt"
_ROOM_FOR_NAMES = 64 * 1024  # bytes: the zip's own list, and LEFT_OUT
_MIB = 2**20
Content = str | bytes


@dataclass(frozen=True, slots=True)
class ReportPart:
    """A file of the report, or a folder of it.

    name: a folder's has a slash at its end.
    about: its contents in words.
    read: the file, or name -> file of the folder; may raise OSError or Refused.
    """

    name: str
    about: str
    read: Callable[[], Content | dict[str, Content]]


def pack(target: IO[bytes], parts: Iterable[ReportPart], limit: int = LIMIT_MIB * _MIB) -> None:
    """Write the zip, at most `limit` bytes long: the first parts matter most.

    LEFT_OUT in it lists what could not be read, or was too large.
    """
    left_out = []
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for part in parts:
            try:
                content = part.read()
            except (OSError, Refused) as error:
                left_out.append(f"{part.name}: {error}")
                continue
            files = content if isinstance(content, dict) else {"": content}
            for name, text in files.items():
                body = text.encode() if isinstance(text, str) else text
                room = limit - target.tell() - _ROOM_FOR_NAMES
                # Compressed once more only where it is needed: traces shrink to a tenth
                if len(body) > room and len(zlib.compress(body)) > room:
                    left_out.append(f"{part.name}{name}: too large ({len(body) / _MIB:.1f} MiB)")
                else:
                    archive.writestr(f"{part.name}{name}", body)
        if left_out:
            archive.writestr(LEFT_OUT, "\n".join(left_out) + "\n")


def public_environment(document: dict[str, Any]) -> dict[str, Any]:
    """An environment without the names of the machine and of its device."""
    machine = dict(document.get("machine", {}))
    machine.pop("host", None)
    machine.pop("device_id", None)
    return {**document, "machine": machine}
