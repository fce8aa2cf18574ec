"""From an exception to a status word and a message that a user can act on. Imports no torch: it goes by names and texts.

A failure is data: each rule below names what was seen, the status word it means, and what to do about it.
"""

import errno
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """How a case ended: a status word of schema/result.v1.json, and why and what to do."""

    status: str
    message: str


@dataclass(frozen=True)
class _Rule:
    status: str
    advice: str
    names: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    test: Callable[[BaseException], bool] = lambda error: False

    def fits(self, error: BaseException) -> bool:
        text = str(error)
        return type(error).__name__ in self.names or any(part in text for part in self.texts) or self.test(error)


_RULES = (
    _Rule(
        "oom",
        "Memory ran out. Use a smaller batch or a machine with more memory.",
        names=("OutOfMemoryError", "MemoryError"),
        texts=("out of memory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED", "std::bad_alloc"),
    ),
    _Rule("unsupported", "", test=lambda error: type(error).__name__ == "Unsupported" and not _from_compiler(error)),
    _Rule(
        "fail_to_compile",
        "No C++ compiler was found, and Inductor needs one: install g++ (Debian, Ubuntu: apt-get install g++) or set CXX to one.",
        names=("InvalidCxxCompiler",),
        texts=("No working C++ compiler found", "Failed to find C compiler"),
    ),
    _Rule(
        "fail_to_compile",
        "Python's headers are missing, and Inductor needs them: install them (Debian, Ubuntu: apt-get install python3-dev).",
        texts=("Python.h: No such file",),
    ),
    _Rule(
        "unsupported",
        "Triton is missing, and Inductor needs it on a GPU: install the version that this torch names in its requirements.",
        names=("TritonMissing",),
        texts=("Cannot find a working triton installation",),
    ),
    _Rule(
        "unsupported",
        "This GPU is too old for Triton, which needs capability 7.0 or newer. Measure in eager, or on a newer GPU.",
        names=("GPUTooOldForTriton",),
        texts=("too old to be supported by the triton",),
    ),
    _Rule(
        "unsupported",
        "There is no usable GPU here. Check the driver with nvidia-smi, install a CUDA build of torch, or measure on the CPU.",
        texts=("Found no NVIDIA driver", "not compiled with CUDA enabled", "No CUDA GPUs are available", "invalid device ordinal", "no kernel image is available"),
    ),
    _Rule(
        "fail_to_run",
        "The disk is full. Free some space under the temporary folder (TMPDIR) and beside the result file.",
        texts=("No space left on device",),
        test=lambda error: isinstance(error, OSError) and error.errno == errno.ENOSPC,
    ),
    _Rule("fail_to_compile", "The compiler failed. The error and the ablation name the stage.", test=lambda error: _from_compiler(error)),
)


def of(error: BaseException, stage: str) -> Outcome:
    """The outcome that ``error``, raised in ``stage``, means."""
    chain = list(_chain(error))
    for rule in _RULES:
        for link in chain:
            if rule.fits(link):
                return Outcome(rule.status, f"{rule.advice} [{stage}] {_first_line(link)}".strip())
    return Outcome("fail_to_run", f"The benchmark raised in stage {stage}: {type(error).__name__}: {_first_line(error)}")


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and everything it came from, each once."""
    seen: list[BaseException] = []
    waiting: list[object] = [error]
    while waiting:
        link = waiting.pop(0)
        if isinstance(link, BaseException) and not any(link is other for other in seen):
            seen.append(link)
            yield link
            waiting += [getattr(link, "inner_exception", None), link.__cause__, link.__context__]


def _from_compiler(error: BaseException) -> bool:
    return type(error).__module__.startswith(("torch._dynamo", "torch._inductor", "torch._functorch", "triton"))


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:600]
