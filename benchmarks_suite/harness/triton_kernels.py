"""The Triton kernels that this process has: source, the nodes they came from, spilled registers.

Inductor says them in the wrapper that it generates, above and within each kernel's definition; the
spills are known to the compiled kernel alone. What a torch release does not tell is left out.
"""

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks_suite.harness.contract import Document
from benchmarks_suite.harness.generated_code import normalized

MOST_CHARACTERS = 500  # of the nodes
# name = async_compile.triton('name', '''source''', …); above it, comments that name the nodes
_DEFINITION = re.compile(r"^(\w+) = async_compile\.triton\('\w+', '''(.*?)'''", re.S | re.M)
_NODES = re.compile(
    r"^# (?:Topologically Sorted )?Source Nodes: \[(.*?)\], Original ATen: \[(.*?)\]", re.M
)
_FUNCTION = re.compile(r"@triton\.jit.*", re.S)


def generated() -> dict[str, Document]:
    """Kernel's name -> ``source``, ``nodes``, ``spills``, each where it is known.

    Kernels that Triton compiled without Inductor have their name alone. Two graphs may each have a
    kernel of one name: then neither source nor nodes are said, and the spills are the larger.
    """
    kernels: dict[str, Document] = {}
    if folder := os.environ.get("TRITON_CACHE_DIR"):
        kernels = {path.stem: {} for path in Path(folder).rglob("*.cubin")}
    for module in _modules():
        for name, facts in in_wrapper(_text(module)).items():
            kernel = kernels.setdefault(name, {})
            is_other = kernel.get("source", facts["source"]) != facts["source"]
            kernel.update({"source": None, "nodes": None} if is_other else facts)
        for name, spills in _spills(module):
            kernel = kernels.setdefault(name, {})
            kernel["spills"] = max(spills, kernel.get("spills", 0))
    return kernels


def in_wrapper(text: str) -> dict[str, Document]:
    """Kernel's name -> the fingerprint of its source, and the nodes that it came from."""
    facts = {}
    position = 0
    for definition in _DEFINITION.finditer(text):
        name, source = definition.groups()
        above = list(_NODES.finditer(text, position, definition.start()))
        nodes = None
        if above:
            source_nodes, aten = above[-1].groups()
            nodes = f"{aten} of {source_nodes}"[:MOST_CHARACTERS]
        facts[name] = {"source": fingerprint(name, source), "nodes": nodes}
        position = definition.end()
    return facts


def fingerprint(name: str, source: str) -> str:
    """SHA-256 (first 16 hex digits) of a kernel's function without its name.

    What surrounds the function, its signature and settings, differs between releases also where
    the code is the same.
    """
    function = _FUNCTION.search(source)
    text = function[0] if function else source
    return hashlib.sha256(normalized(text.replace(name, "KERNEL")).encode()).hexdigest()[:16]


def _modules() -> list[ModuleType]:
    """The generated Python modules of this process."""
    from torch._inductor import codecache

    loaded: Any = getattr(codecache.PyCodeCache, "modules", None)
    if loaded is None:  # torch 2.4: a dictionary by key
        loaded = getattr(codecache.PyCodeCache, "cache", {})
    return list(loaded.values() if isinstance(loaded, dict) else loaded)


def _text(module: ModuleType) -> str:
    try:
        return Path(str(module.__file__)).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _spills(module: ModuleType) -> Iterator[tuple[str, int]]:
    for name, value in vars(module).items():
        for launcher in getattr(value, "launchers", None) or ():
            spills = getattr(launcher, "n_spills", None)
            if isinstance(spills, int):
                yield name, spills
