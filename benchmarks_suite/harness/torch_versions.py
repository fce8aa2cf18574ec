"""Everything that depends on the torch release, in one place.

Range: 2.1 to 2.15; tried: 2.4, 2.7, 2.13, 2.15.

| needs                                   | since | before that                                    |
|-----------------------------------------|-------|------------------------------------------------|
| graph_break_reasons, counters           | 2.0   |                                                |
| a structured trace (TORCH_TRACE)        | 2.3   | the diagnostic start keeps the log alone      |
| CompilationMetrics kept and readable    | 2.3   | recompiles and time by function are absent     |
| CompilationMetrics.recompile_reason     | 2.7   | a recompile is an entry that found the cache   |
|                                         |       | not empty; the guard that failed is not known  |
| each call begins with set_eval_frame    | 2.5   | the overhead of calls is absent                |
| fxgraph_cache_hit, _miss                | 2.2   | cache hits are absent                          |
| autograd_cache_hit, _miss               | 2.5   | only FX graph hits are counted                 |
| save_cache_artifacts                    | 2.7   | restored start is absent                       |
| set_stance                              | 2.6   | configs that need it are unsupported           |
| recompile_limit                         | 2.6   | cache_size_limit                               |
| torch.OutOfMemoryError                  | 2.5   | torch.cuda.OutOfMemoryError (later the same)   |
| InductorBenchmarker                     | 2.11  | (or earlier; not looked at) the clock decides  |
|                                         |       | how many trials of kernels are counted         |

``counters["graph_break"]`` is not used: a nested break counts twice or thrice there, a
data-dependent ``if`` not at all. No release has a counter of recompiles. ``guard_failures``
overcounts.
"""

import functools
import importlib
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

from benchmarks_suite.harness.portable_text import portable
from benchmarks_suite.workload import Unsupported

_AREAS = {
    "inductor": "torch._inductor.config",
    "dynamo": "torch._dynamo.config",
    "functorch": "torch._functorch.config",
}
_FORMER_NAMES = {"recompile_limit": "cache_size_limit"}
_AUTOTUNING = (
    "CachingAutotuner.benchmark_all_configs",
    "CachingAutotuner.coordinate_descent_tuning",
)


def release() -> tuple[int, int]:
    """(major, minor) of the running torch."""
    numbers = re.match(r"(\d+)\.(\d+)", torch.__version__)
    assert numbers is not None  # every torch has had such a version
    return int(numbers[1]), int(numbers[2])


def set_options(area: str, options: Mapping[str, Any]) -> None:
    """Sets attributes of torch's ``inductor``, ``dynamo`` or ``functorch`` config.

    Raises Unsupported for one it lacks.
    """
    module = importlib.import_module(_AREAS[area])
    for path, value in options.items():
        *parents, name = path.split(".")
        owner: Any = module
        for parent in parents:
            owner = getattr(owner, parent, None)
        if not hasattr(owner, name):
            name = _FORMER_NAMES.get(name, name)
        if not hasattr(owner, name):
            raise Unsupported(f"torch {torch.__version__} has no {_AREAS[area]}.{path}")
        setattr(owner, name, value)


def floats_as_constants(step: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``step``, compiled with every float as a constant.

    A second compile of a module makes symbols of the floats that differ from the first one's (a
    dropout rate), finds that it cannot, and traces once more: minutes for a large model.
    """
    if not hasattr(torch._dynamo.config, "specialize_float"):
        return step
    patched: Callable[..., Any] = torch._dynamo.config.patch(specialize_float=True)(step)
    return patched


def import_compiler(backend: str) -> None:
    """Imports what the first compiled call would import, so that no start pays for it.

    Every metrics entry is then kept.
    """
    module = "torch._inductor.compile_fx" if backend == "inductor" else "torch._dynamo"
    importlib.import_module(module)
    from torch._dynamo import utils

    keep_more = getattr(utils, "set_compilation_metrics_limit", None)
    if keep_more:
        keep_more(10_000)


def time_kernels_equally_often() -> None:
    """Lets this process's Inductor time each kernel once, after its estimate of five trials.

    It repeats a timing as often as fits into 25 ms, so how many calls that makes depends on how
    fast the GPU ran. Of Inductor's benchmarkers this is the one that is on by default since 2.11.
    """
    try:
        from torch._inductor.runtime.benchmarking import InductorBenchmarker
    except ImportError:
        return
    once = functools.partialmethod(InductorBenchmarker.benchmark_gpu, benchmark_iters=1)
    InductorBenchmarker.benchmark_gpu = once  # type: ignore[method-assign, assignment]


def start_compile_workers() -> None:
    """Starts Inductor's workers in the releases where importing it would, but for warm_imports.py.

    The others start them in the first compilation, which therefore pays for them.
    """
    compile_in_background = sys.modules.get("torch._inductor.async_compile")  # since 2.4
    if compile_in_background is not None and not hasattr(compile_in_background, "maybe_warm_pool"):
        compile_in_background.AsyncCompile.warm_pool()


def prepare_toolchain(device: str, wrapper: str) -> float:
    """Runs the one-time checks of the compilers into the cache folders that are set.

    Returns the seconds it took. On a CPU: which vector instructions compile, and the precompiled
    headers of this wrapper (caches.base); on a GPU also Triton's launcher.
    """
    start = time.perf_counter()
    try:
        from torch._inductor import cpu_vec_isa as probe  # since 2.6
    except ImportError:
        from torch._inductor import codecache as probe  # type: ignore[no-redef]
    probe.pick_vec_isa()
    with torch.no_grad():
        _compile(_Small(), torch.ones(64, device=device), wrapper)
    return time.perf_counter() - start


class _Small(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x + 1).relu()


def _compile(module: torch.nn.Module, x: torch.Tensor, wrapper: str) -> None:
    if wrapper == "aot" and release() >= (2, 6):  # older ones have no such config
        from benchmarks_suite.harness import aot_inductor

        with tempfile.TemporaryDirectory() as folder:
            aot_inductor.package(module, (x,), {}, Path(folder))  # loading it is the benchmark's
        return
    set_options("inductor", {"cpp_wrapper": wrapper == "cpp"})
    torch.compile(module)(x)


def forget_matmul_workspace() -> None:
    """Gives back what a matmul on a GPU leaves allocated for the next one (32 MiB on an H100).

    Only CUDA builds have this.
    """
    clear = getattr(torch._C, "_cuda_clearCublasWorkspaces", None)
    if clear:
        clear()


def save_artifacts() -> bytes | None:
    """Save the cache artifacts as bytes; None where there is nothing to save, and before 2.7."""
    save = getattr(torch.compiler, "save_cache_artifacts", None)
    if save is None:
        return None
    saved = save()
    return saved[0] if saved else None


def load_artifacts(artifacts: bytes) -> None:
    """Fills the empty caches from saved artifacts."""
    torch.compiler.load_cache_artifacts(artifacts)


def enter_stance(stance: Mapping[str, Any]) -> None:
    """torch.compiler.set_stance from here to the end of the process."""
    options = dict(stance)
    torch.compiler.set_stance(options.pop("stance", "default"), **options)


# What the compiler did


def graph_breaks() -> list[dict[str, Any]]:
    """Every distinct graph break.

    Reason, place in the user's code (file:line in function), and how often it came up.
    """
    from torch._dynamo.utils import graph_break_reasons

    counts: Counter[tuple[str, str]] = Counter()
    for entry in graph_break_reasons:
        counts[_stable(str(entry.reason)), _place(entry.user_stack)] += 1
    breaks = []
    for (reason, location), count in counts.items():
        breaks.append({"reason": reason, "location": location, "count": count})
    return breaks


def recompiles() -> list[dict[str, str]] | None:
    """Every compilation after a failed guard: the guard and the function.

    None where this release cannot say.
    """
    entries = compilations()
    if entries is None:
        return None
    again = []
    for entry in entries:
        reason = _recompile_reason(entry)
        if reason:
            again.append({"reason": reason, "function": _function(entry)})
    return again


def _recompile_reason(entry: Any) -> str:
    """The guard that failed; empty for a first compilation."""
    if hasattr(entry, "recompile_reason"):
        return _stable(str(entry.recompile_reason or ""))
    if (getattr(entry, "cache_size", 0) or 0) > 0:
        return "a guard failed; which one, torch says since 2.7"
    return ""


def compilations() -> list[Any] | None:
    """The CompilationMetrics entries so far; None before 2.3."""
    from torch._dynamo import utils

    get = getattr(utils, "get_compilation_metrics", None)
    return list(get()) if get else None


def seconds_by_function() -> dict[str, float]:
    """Compile seconds of each function that dynamo entered (with ``regional``, of each block).

    A lazy backward is not included.
    """
    seconds: Counter[str] = Counter()
    for entry in compilations() or []:
        if getattr(entry, "co_name", None) and entry.entire_frame_compile_time_s:
            seconds[_function(entry)] += entry.entire_frame_compile_time_s
    return {name: round(value, 4) for name, value in seconds.most_common(100)}


def counters() -> dict[str, float]:
    """dynamo's and Inductor's counters, flattened to ``group.name``.

    Per-shape matmul notes are left out.
    """
    from torch._dynamo.utils import counters as groups

    flat: dict[str, float] = {}
    for group, counts in groups.items():
        if group in ("aten_mm_info", "graph_break", "unimplemented"):
            continue
        for name, count in counts.items():
            if isinstance(count, int | float):
                flat[f"{group}.{name}"[:200]] = float(count)
    return flat


def cache_hits(counts: Mapping[str, float]) -> int | None:
    """FX graph and AOTAutograd cache hits among ``counts`` (counters()).

    None where this release does not count them.
    """
    if release() < (2, 2):
        return None
    hits = counts.get("inductor.fxgraph_cache_hit", 0)
    return int(hits + counts.get("aot_autograd.autograd_cache_hit", 0))


def phases_s() -> dict[str, float]:
    """Seconds by phase, apart from each other; the first four add up to ``total``.

    dynamo's own timers nest: a frame's time holds the backend's, which holds Inductor's, which
    holds the loading of the generated module, where the kernels are compiled or waited for. A
    lazily compiled backward is timed apart from the frame. ``autotune`` is outside ``total``: how
    long Inductor timed the candidate launches of its Triton kernels, when each first ran.
    """
    from torch._dynamo.utils import compile_times

    names, values = compile_times(repr="csv", aggregate=True)
    timed = {str(name): float(str(value)) for name, value in zip(names, values, strict=True)}
    frames = _first(timed, "_compile.compile_inner", "_compile.<locals>.compile_inner", "_compile")
    backend = _first(timed, "OutputGraph.call_user_compiler")
    backward = _first(timed, "backward._backward_impl", "compile_fx.<locals>.bw_compiler")
    forward = _first(timed, "compile_fx.<locals>.fw_compiler_base")
    inductor = _first(timed, "compile_fx_inner") or forward + backward
    kernels = min(inductor, _first(timed, "PyCodeCache.load_by_key_path", "compile_file"))
    return {
        "dynamo": _phase(frames - backend),
        "aot": _phase(backend + backward - inductor),
        "inductor": _phase(inductor - kernels),
        "kernels": _phase(kernels),
        "total": round(frames + backward, 4),
        "autotune": _phase(sum(timed.get(name, 0.0) for name in _AUTOTUNING)),
    }


def _phase(seconds: float) -> float:
    return round(max(0.0, seconds), 4)


def _first(timed: Mapping[str, float], *names: str) -> float:
    for name in names:
        if name in timed:
            return timed[name]
    return 0.0


def _function(entry: Any) -> str:
    return f"{entry.co_name} ({Path(str(entry.co_filename)).name}:{entry.co_firstlineno})"[:500]


def _stable(reason: str) -> str:
    """The reason without addresses and local folders: equal breaks are equal texts everywhere."""
    return re.sub(r" at 0x[0-9a-f]+", "", portable(reason)).strip()[:2000]


def _place(user_stack: Iterable[Any]) -> str:
    """The innermost frame outside of torch, without local folders; "" for no frame."""
    frames = list(user_stack)
    if not frames:
        return ""
    outside = [frame for frame in frames if "/torch/" not in frame.filename]
    frame = (outside or frames)[-1]
    return f"{portable(frame.filename)}:{frame.lineno} in {frame.name}"[:500]
