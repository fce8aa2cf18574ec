"""Peak memory of one arm.

On CUDA it comes from the allocator, on a CPU it is the resident set of a process of its own.

On a CPU the value is the difference to just after the imports: builds differ by hundreds of MB in
what they load, and that is not the model's. For the same reason pages of files, the libraries'
code, are left out: the first step maps tens of MB more of them, and a forked process maps again
what it uses. 1 GB = 1e9 bytes.

Imports leave some 10 MB of the heap free and still resident. These are given back before the zero
is read, as before each peak: a zero that counts them makes a small model's memory negative. Before
the model is loaded, too: weights in memory that the zero counts would not be the model's.

What the suite itself keeps next to an arm is not the arm's: the copy that its state is restored
from (comparison.py) and the module that wrapped arms are copied from (working_copies.py) are taken
off, the workspace of a start's untimed matmul is given back before the first step (start.py).
"""

import ctypes
import gc
import re
from contextlib import suppress
from pathlib import Path

import torch

_SHARED_POOL = (0, 0)  # what every tensor outside of a graph is allocated from
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class PeakMemory:
    """Made after the imports, before the model is loaded."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._after_imports = 0.0
        self.why_absent = ""
        if device.type != "cuda":
            _give_back_free()
            self.why_absent = _why_not_resettable()

    def start_counting(self) -> None:
        """On a CPU what is resident now is not the arm's: called after whatever else is loaded
        (the model's code, cuDNN for its version), before the weights are filled.
        """
        if self._device.type != "cuda":
            _give_back_free()
            self._after_imports = host_gb()

    def reset(self) -> None:
        """Gives back what is free, then forgets the peak so far."""
        if self._device.type == "cuda":
            gc.collect()
            torch.cuda.synchronize(self._device)
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats(self._device)
            return
        _give_back_free()
        with suppress(OSError):
            _CLEAR.write_text("5")  # resets the peak resident set: proc(5), Linux 4.0

    def peak_gb(self) -> float:
        """The peak since ``reset``, GB."""
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
            return (torch.cuda.max_memory_allocated(self._device) + _kept_by_graphs()) / 1e9
        return _without_files_gb("VmHWM") - self._after_imports

    def in_use_gb(self) -> float:
        """Read what tensors take on the GPU now; on a CPU, the process without pages of files."""
        if self._device.type == "cuda":
            return torch.cuda.memory_allocated(self._device) / 1e9
        return host_gb()

    def beside_peak_gb(self) -> dict[str, float]:
        """On a GPU, by metric: what the allocator had taken from it at most since ``reset``, and
        the largest resident set of the process so far.
        """
        if self._device.type != "cuda":
            return {}
        return {
            "reserved_memory_gb": torch.cuda.max_memory_reserved(self._device) / 1e9,
            "host_memory_gb": _resident_gb("VmHWM"),
        }


def host_gb() -> float:
    """Read what this process holds resident now, without pages of files."""
    return _without_files_gb("VmRSS")


def _give_back_free() -> None:
    gc.collect()
    with suppress(OSError, AttributeError):  # another C library than glibc has nothing to trim
        ctypes.CDLL(None).malloc_trim(0)


def _kept_by_graphs() -> int:
    """Bytes of the pools that CUDA graphs replay in, as far as no tensor holds them.

    They are in use for all that, since the allocator gives them to nobody else.
    """
    kept = 0
    for segment in torch.cuda.memory_snapshot():
        if tuple(segment.get("segment_pool_id", _SHARED_POOL)) != _SHARED_POOL:
            kept += segment["total_size"] - segment["allocated_size"]
    return kept


def _without_files_gb(field: str) -> float:
    """Read what is resident (VmRSS), or was at its peak (VmHWM), less the pages of files.

    Those only grow in number.
    """
    return _resident_gb(field) - _resident_gb("RssFile")


def _resident_gb(field: str) -> float:
    try:
        kilobytes = re.search(rf"{field}:\s+(\d+) kB", _STATUS.read_text())
    except OSError:
        return 0.0
    return int(kilobytes[1]) * 1024 / 1e9 if kilobytes else 0.0


def _why_not_resettable() -> str:
    """Return why the resident set's peak cannot be measured here; empty where it can."""
    try:
        _CLEAR.write_text("5")
    except OSError as error:
        return f"the peak resident set cannot be reset here ({_CLEAR}: {error.strerror})"
    return "" if _resident_gb("VmHWM") else f"{_STATUS} has no VmHWM"
