"""Failures of a case in plain words. Pure."""

from collections.abc import Mapping

from dashboard.language.states import label

# Of the message of a result that is not accurate enough; the loss follows from the others
_PARTS = ("outputs", "gradients", "loss")


def describe(failures: Mapping[str, int], messages: Mapping[str, str]) -> str:
    """Describe how jobs failed: "wrong gradients". failures: status word → jobs. messages: status
    word → message of the newest of them.
    """
    words = []
    for status in sorted(failures):
        if status == "fail_accuracy":
            _, _, details = messages.get(status, "").partition(": ")
            parts = [part for part in _PARTS if part in details]
            words.append(f"wrong {' and '.join(parts) or 'results'}")
        else:
            words.append(label(status))
    return ", ".join(words)
