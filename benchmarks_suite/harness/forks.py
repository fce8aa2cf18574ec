"""Work in a forked child: a process of its own that need not import everything again.

A start wants a fresh process: empty caches, nothing compiled, the device untouched. Importing
torch, the compiler and a model's libraries takes most of the time that such a process costs, and is
the same each time. So the job's process, which has imported them and has done nothing else, is
forked; the child is as fresh as one that has just finished its imports. ``why_unfit`` says when
that would not hold; the work then gets a process that imports by itself. docs/measuring.md
lists what is shared and what is not.
"""

import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

_PR_SET_PDEATHSIG = 1
# Threads that no child misses: jemalloc, pyarrow's allocator, starts its own in each forked child;
# NVML's waits for events that nobody requested (CUDA's has the same name, and is known by the file
# that it opens).
_HARMLESS_THREADS = ("jemalloc_bg_thd", "cuda0")
# cuInit opens it; NVML, which may be used before a fork, does not
_OPENED_BY_CUDA = "/dev/nvidia-uvm"


def run(work: Callable[[], int | None], limit_s: float) -> int:
    """Does ``work`` in a forked child; returns its exit code as subprocess does.

    That is what work returned (None: 0), or negative for a signal. Raises TimeoutError after
    ``limit_s`` seconds; the child and what it started are then ended, as they are when this process
    is interrupted.
    """
    child = multiprocessing.get_context("fork").Process(target=_begun, args=(work, os.getpid()))
    child.start()
    assert child.pid is not None  # it was started
    try:
        child.join(limit_s)
        if child.is_alive():
            raise TimeoutError
    finally:
        if child.is_alive():
            # What it started would otherwise go on running
            for member in [child.pid, *descendants(child.pid)]:
                _signal(member)
            child.join()
    assert child.exitcode is not None  # it has ended
    return child.exitcode


def with_fixed_hashes() -> None:
    """Begins this program again with PYTHONHASHSEED=0, unless it has that.

    A forked child hashes as its parent does, and code generated in another order is other code.
    """
    if sys.flags.hash_randomization and os.environ.get("PYTHONHASHSEED") != "0":
        arguments = [sys.executable, *sys.orig_argv[1:]]
        variables = {**os.environ, "PYTHONHASHSEED": "0"}
        os.execve(sys.executable, arguments, variables)  # noqa: S606 - it needs no shell


def end_with_parent(parent: int) -> None:
    """The kernel ends this process when ``parent``, which started it, has ended in any way."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # gone already
        os._exit(1)


def why_unfit() -> str:
    """Return why this process must not be forked for work that needs a fresh one; empty: it may."""
    if sys.flags.hash_randomization:
        return (
            "its hashes are random (PYTHONHASHSEED is not 0), and the children's would "
            "differ from other processes'"
        )
    try:
        return _why_busy() or _why_used()
    except OSError as error:
        return f"{error.filename} cannot be read, so nobody knows what this process has begun"


def descendants(process: int) -> Iterator[int]:
    """The living children of a process, and theirs."""
    for child in children(process):
        yield child
        yield from descendants(child)


def children(process: int) -> list[int]:
    """The living children of a process; none where the kernel does not list them."""
    try:
        lists = [path.read_text() for path in Path(f"/proc/{process}/task").glob("*/children")]
    except OSError:
        return []
    return [int(child) for child in " ".join(lists).split()]


def end_at_once(code: int = 0) -> NoReturn:
    """Ends this process, whose work is done, with what it started.

    The farewells of its libraries would cost the device seconds: Inductor's (seen in 2.13) waits
    until the compile workers have begun, only to end them. Before that release it left them, and
    they began while others were measured.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    for descendant in list(descendants(os.getpid())):
        _signal(descendant)
    os._exit(code)


def _begun(work: Callable[[], int | None], parent: int) -> None:
    end_with_parent(parent)
    end_at_once(work() or 0)


def _signal(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _why_busy() -> str:
    """Describe what runs besides the one thread that a child would get. Raises OSError."""
    lost = set()
    for task in Path("/proc/self/task").iterdir():
        if task.name != str(os.getpid()):
            name = (task / "comm").read_text().strip()
            if not name.startswith(_HARMLESS_THREADS):
                lost.add(name)
    if lost:
        return f"it has more threads than a child would get: {', '.join(sorted(lost))}"
    # This call comes first: it waits for those that have ended
    own = {child.pid for child in multiprocessing.active_children()}
    started = len(set(children(os.getpid())) - own)
    if not started:
        return ""
    processes = "1 process" if started == 1 else f"{started} processes"
    return f"its imports started {processes}, which no child can use"


def _why_used() -> str:
    """Describe what has been done beyond imports. Raises OSError."""
    if _OPENED_BY_CUDA in _open_files():
        return (
            f"its imports touched the GPU ({_OPENED_BY_CUDA} is open), and CUDA does not "
            "survive a fork"
        )
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return "it has initialized CUDA, which does not survive a fork"
    utils = sys.modules.get("torch._dynamo.utils")
    if utils is not None and any(utils.counters.values()):
        return "it has compiled something, and a child would know of it"
    return ""


def _open_files() -> set[str]:
    files = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the one that lists them is closed by now
            files.add(str(descriptor.readlink()))
    return files
