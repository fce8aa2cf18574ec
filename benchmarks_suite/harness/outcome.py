"""From an exception to a status word and a message that a user can act on.

A failure is data: each rule below names what was seen, the status word that it means, and what to
do about it. Imports no torch: it goes by names and texts.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks_suite.harness.portable_text import portable


@dataclass(frozen=True)
class CaseOutcome:
    """End of a case: a status word of schema/result.v1.json, and why and what to do."""

    status: str
    message: str


@dataclass(frozen=True)
class _Rule:
    """Meaning of an exception; it fits by any of the three.

    names: of the exception's class.
    texts: parts of its text.
    modules: where its class is defined.
    """

    status: str
    advice: str
    names: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()

    def fits(self, error: BaseException) -> bool:
        kind = type(error)
        if kind.__name__ in self.names:
            return True
        if self.modules and kind.__module__.startswith(self.modules):
            return True
        return any(part in str(error) for part in self.texts)


_RULES = (
    _Rule(
        "oom",
        "Memory ran out. Use a smaller batch or a machine with more memory.",
        names=("OutOfMemoryError", "MemoryError"),
        texts=(
            "out of memory",
            "can't allocate memory",
            "CUBLAS_STATUS_ALLOC_FAILED",
            "std::bad_alloc",
        ),
    ),
    _Rule("unsupported", "", modules=("benchmarks_suite.workload",)),  # its Unsupported
    _Rule(
        "fail_to_compile",
        "No C++ compiler was found: install g++ (apt-get install g++), or set CXX to one. "
        "Inductor needs it.",
        names=("InvalidCxxCompiler",),
        texts=("No working C++ compiler found", "Failed to find C compiler"),
    ),
    _Rule(
        "fail_to_compile",
        "Python's headers are missing, and Inductor needs them: install them "
        "(apt-get install python3-dev).",
        texts=("Python.h: No such file",),
    ),
    _Rule(
        "unsupported",
        "Triton is missing, and Inductor needs it on a GPU: install the version that this torch "
        "requires.",
        names=("TritonMissing",),
        texts=("Cannot find a working triton installation",),
    ),
    _Rule(
        "unsupported",
        "A library that this benchmark needs is missing, or cannot be imported: install it where "
        "this interpreter finds it.",
        names=("ModuleNotFoundError",),
    ),
    _Rule(
        "unsupported",
        "This GPU is too old for Triton (capability 7.0 or newer). Measure in eager, or on a "
        "newer GPU.",
        names=("GPUTooOldForTriton",),
        texts=("too old to be supported by the triton",),
    ),
    _Rule(
        "unsupported",
        "There is no usable GPU here: check the driver with nvidia-smi, and that torch is a "
        "CUDA build.",
        texts=(
            "Found no NVIDIA driver",
            "not compiled with CUDA enabled",
            "No CUDA GPUs are available",
            "invalid device ordinal",
            "no kernel image is available",
        ),
    ),
    _Rule(
        "fail_to_run",
        "The check failed: with this config a compilation after the first step is an error, and "
        "a guard did not hold.",
        texts=("stance is 'fail_on_recompile'",),
    ),
    _Rule(
        "fail_to_run",
        "A check in the generated code failed: sizes or strides are not those that it was "
        "compiled for. Eager ran the same inputs: the compiler is wrong, or a custom operator's "
        "fake kernel. Where sizes vary, static buckets (config inductor_buckets) or "
        "dynamic=False may help: each graph is then compiled for fixed sizes.",
        texts=("most often comes from a incorrect fake (aka meta) kernel",),
    ),
    _Rule(
        "fail_to_run",
        "The disk is full. Free some space under the temporary folder (TMPDIR) and next to the "
        "result file.",
        texts=("No space left on device",),
    ),
    _Rule(
        "fail_to_compile",
        "The compilers failed at a first trial, made once on each machine; the benchmark was "
        "not reached.",
        names=("ToolchainError",),
    ),
    _Rule(
        "fail_to_compile",
        "The compiler failed. The error and the ablation name the stage.",
        modules=("torch._dynamo", "torch._inductor", "torch._functorch", "triton"),
    ),
)


def of(error: BaseException, stage: str) -> CaseOutcome:
    """The outcome that ``error``, raised in ``stage``, means."""
    chain = list(_chain(error))
    for rule in _RULES:
        for link in chain:
            if rule.fits(link):
                message = f"{rule.advice} [{stage}] {_first_line(link)}{_import_cause(link)}"
                return CaseOutcome(rule.status, message.strip())
    message = f"The benchmark raised in stage {stage}: {type(error).__name__}: {_first_line(error)}"
    return CaseOutcome("fail_to_run", message)


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


def _import_cause(error: BaseException) -> str:
    """Find what kept a library from being imported: transformers names its own module alone."""
    causes = [error]
    while (cause := causes[-1].__cause__) is not None and cause not in causes:
        causes.append(cause)  # two errors may name each other
    root = causes[-1]
    if root is error or not isinstance(error, ImportError):
        return ""
    return f" (because of {type(root).__name__}: {_first_line(root)})"


def _first_line(error: BaseException) -> str:
    text = portable(str(error)).strip() or type(error).__name__
    return text.splitlines()[0].strip()[:600]
