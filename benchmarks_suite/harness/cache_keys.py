"""Reasons why a start did not find its graphs in Inductor's and AOTAutograd's caches.

Torch keeps no such reason where its structured trace is off, so the keys are taken where they are
made, and bypasses from the log. Before torch 2.3 a key has no parts.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks_suite.harness.contract import Document
from benchmarks_suite.harness.job import Job
from benchmarks_suite.harness.portable_text import portable

_LOGS = ("torch._inductor.codecache", "torch._functorch._aot_autograd.autograd_cache")
_BYPASS = "Bypassing "
_MOST_PARTS = 5
_MISSES = ("inductor.fxgraph_cache_miss", "aot_autograd.autograd_cache_miss")
_OFF = "no cache was looked into: force_disable_caches, or fx_graph_cache off"


class CacheKeys(logging.Filter):
    """``keys``: of each graph, part -> hash; ``bypasses``: why a graph had none."""

    def __init__(self) -> None:
        super().__init__()
        self.has_caches = False
        self.keys: list[dict[str, str]] = []
        self.bypasses: list[str] = []

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if text.startswith(_BYPASS):
            self.bypasses.append(portable(text)[:500])
        return record.levelno >= logging.WARNING  # what it would print without us

    def document(self) -> Document:
        bypasses = list(dict.fromkeys(self.bypasses))
        return {"has_caches": self.has_caches, "keys": self.keys, "bypasses": bypasses}


def collect(job: Job) -> CacheKeys:
    """Collects from here on, of a job whose graphs go to these caches."""
    collected = CacheKeys()
    if job.config.backend != "inductor" or job.config.target == "aot_inductor":
        return collected
    from torch._inductor import codecache

    collected.has_caches = True
    for name in _LOGS:
        logger = logging.getLogger(name)
        logger.setLevel(logging.INFO)
        logger.addFilter(collected)
    make_key: Any = codecache.compiled_fx_graph_hash

    def make_and_keep(*args: Any, **kwargs: Any) -> Any:
        made = make_key(*args, **kwargs)
        if isinstance(made, tuple):
            collected.keys.append(dict(map(_part, made[1])))
        return made

    codecache.compiled_fx_graph_hash = make_and_keep
    return collected


def _part(line: str) -> tuple[str, str]:
    """(part, hash) of "[hash] part: value"."""
    hashed, _, rest = line.partition("] ")
    return rest.partition(": ")[0][:100], hashed


def why_missed(cold: Document, warm: Document, counters: Mapping[str, float]) -> str:
    """Return why the warm start compiled what the cold one had; empty: it did not, or no caches.

    cold, warm: their ``CacheKeys.document()``. counters: torch_versions.counters() of the warm one.
    """
    if warm["bypasses"]:  # the cold start has said so
        return ""
    misses = [int(counters.get(name, 0)) for name in _MISSES]
    if misses[0]:
        return f"{_differing(cold['keys'], warm['keys'])} (misses: {misses[0]})"
    if misses[1]:
        return f"AOTAutograd's cache missed, Inductor's did not (misses: {misses[1]})"
    looked_up = any("cache_hit" in name for name in counters)
    return _OFF if warm["has_caches"] and not looked_up else ""


def _differing(cold: Sequence[Mapping[str, str]], warm: Sequence[Mapping[str, str]]) -> str:
    """The parts in which a key of the warm start differs from the cold one's nearest to it."""
    parts = set[str]()
    for key in warm:
        differing = [{part for part, _ in key.items() ^ other.items()} for other in cold]
        parts |= min(differing, key=len, default=set())
    if not parts:
        return "nothing was saved under its keys"
    more = f" and {len(parts) - _MOST_PARTS} more" if len(parts) > _MOST_PARTS else ""
    return (
        f"the key differs from the cold start's in {', '.join(sorted(parts)[:_MOST_PARTS])}{more}"
    )
