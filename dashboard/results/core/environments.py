"""In what the environments of two results differ."""

from collections.abc import Mapping
from dataclasses import dataclass

from dashboard.language.contracts import Document

_OF_ONE_DEVICE = ("machine.host", "machine.device_id")


@dataclass(frozen=True, slots=True)
class Difference:
    """A value of the environment that differs. path: such as `machine.driver`."""

    path: str
    before: str
    after: str

    @property
    def text(self) -> str:
        return f"{self.path}: {self.before} → {self.after}"


def environment_differences(before: Document, after: Document) -> list[Difference]:
    """In what two environments differ, devices of one kind being alike."""
    old, new = _flat(before), _flat(after)
    differences = []
    for path in sorted(old.keys() | new.keys()):
        if old.get(path) != new.get(path) and path not in _OF_ONE_DEVICE:
            differences.append(Difference(path, old.get(path, "none"), new.get(path, "none")))
    return differences


def _flat(document: Document, prefix: str = "") -> dict[str, str]:
    """{"torch": {"cuda": "12.8"}} -> {"torch.cuda": "12.8"}, without the fingerprint.

    Without Triton's version either: Triton belongs to the build.
    """
    values: dict[str, str] = {}
    for key, value in document.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping):
            values |= _flat(value, f"{path}.")
        elif value is not None and path not in ("fingerprint", "libraries.triton"):
            values[path] = str(value)
    return values
