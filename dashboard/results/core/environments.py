"""In what the environments of two results differ."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_OF_ONE_DEVICE = ("machine.host", "machine.device_id")


@dataclass(frozen=True, slots=True)
class Difference:
    """A value of the environment that differs. path: as `libraries.transformers` or
    `machine.driver`.
    """

    path: str
    before: str
    after: str

    @property
    def text(self) -> str:
        return f"{self.path}: {self.before} → {self.after}"


def environment_differences(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[Difference]:
    """In what two environments differ, devices of one kind being alike."""
    old, new = _flat(before), _flat(after)
    return [
        Difference(path, old.get(path, "none"), new.get(path, "none"))
        for path in sorted(old.keys() | new.keys())
        if old.get(path) != new.get(path) and path not in _OF_ONE_DEVICE
    ]


def _flat(document: Mapping[str, Any], path: str = "") -> dict[str, str]:
    """{"torch": {"cuda": "12.8"}} -> {"torch.cuda": "12.8"}, without the fingerprint; Triton
    belongs to the build.
    """
    found: dict[str, str] = {}
    for key, value in document.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{path}{key}.")
        elif value is not None and f"{path}{key}" not in ("fingerprint", "libraries.triton"):
            found[f"{path}{key}"] = str(value)
    return found
