"""Report of what a compile did not do, and of a warm start next to the cold one."""

from benchmarks_suite.harness import cache_keys
from benchmarks_suite.harness.contract import Document
from benchmarks_suite.harness.result import Result


def not_done(result: Result, facts: Document) -> None:
    """Marks of what the compiler left undone in the cold start, or ahead. facts: its answer's."""
    not_done = {
        "recompile_limit": facts.get("recompile_limits", ()),
        "no_cuda_graphs": facts.get("cudagraph_skips", ()),
        "cache_missed": facts.get("cache", {}).get("bypasses", ()),
    }
    for kind, texts in not_done.items():
        for text in texts[:5]:
            result.mark(kind, text)


def warm(result: Result, cold: Document, warm: Document) -> None:
    """Both are answers of start.py."""
    if warm["status"] != "pass":
        result.missing("cached_step_ratio", f"the warm start ended {warm['status']}")
        return
    fresh, cached = cold.get("later_step_ms"), warm["later_step_ms"]
    if fresh is None:
        result.missing("cached_step_ratio", "the cold start walked through shapes")
    else:
        low = high = None
        if None not in (fresh["low"], cached["low"]):
            low, high = cached["low"] / fresh["high"], cached["high"] / fresh["low"]
        ratio, n = cached["value"] / fresh["value"], min(cached["n"], fresh["n"])
        result.measured("cached_step_ratio", ratio, low, high, n)
    facts = warm["compile"]
    why = cache_keys.why_missed(cold["compile"]["cache"], facts["cache"], facts["counters"])
    if why:
        result.mark("cache_missed", f"The warm start compiled again: {why}")
