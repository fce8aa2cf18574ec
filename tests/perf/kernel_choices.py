"""Why processes of one build differ in the device's time: which kernels were launched otherwise.

    python -m tests.perf.kernel_choices RESULTS... [--limit 0.3]

RESULTS: as `benchmarks_suite compare` takes them. For each case, build and GPU with several
processes it prints half the range of the device's time, and of all kernels' time with the launches
evened out (dashboard/results/core/launches.py). Where the first is above the limit, in percent,
it holds the slowest process next to the fastest, kernel by kernel: how much of the added time is in
kernels of the same source that were launched otherwise (other grid, block or registers: Inductor
timed its candidates anew), how much in other kernels, and how much in the same ones launched alike.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks_suite.harness import recorded
from benchmarks_suite.harness.contract import Document
from dashboard.results.core.kernel_diff import KernelChange, KernelDiff, kernel_diff
from dashboard.results.core.kernel_profile import ArmProfile, Kernel, arm_profiles
from dashboard.results.core.launches import evened_ms
from tests.perf.device_time import half_range_percent

LIMIT_PERCENT = 0.3
MOST_NAMED = 2
ALIKE, OTHERWISE, OTHER = "launched alike", "launched otherwise", "another kernel"
KINDS = (OTHERWISE, OTHER, ALIKE)
Group = tuple[str, str, str, str]  # benchmark, config, torch, GPU


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", nargs="+", type=Path)
    parser.add_argument("--limit", type=float, default=LIMIT_PERCENT)
    options = parser.parse_args()
    print("\n".join(report(grouped(options.results), options.limit)))


def grouped(paths: Sequence[Path]) -> dict[Group, list[Document]]:
    """Results with a profile, by what must be equal: the case, the build and the one GPU."""
    groups: dict[Group, list[Document]] = defaultdict(list)
    for path in paths:
        for document in recorded.read(path):
            if document["status"] != "pass" or "device_ms" not in document["metrics"]:
                continue
            environment = document["environment"]
            gpu = environment["machine"].get("device_id") or environment["machine"]["cpu"]
            key = (*recorded.case(document), environment["torch"]["version"], gpu)
            groups[key].append(document)
    return groups


def report(groups: dict[Group, list[Document]], limit: float) -> Iterator[str]:
    """A row for each group of several processes, and how many are within the limit."""
    heads = ["benchmark", "config", "torch", "GPU", "device time, ms", "±", "± evened"]
    heads += [*KINDS, "most"]
    yield f"| {' | '.join(heads)} |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    spreads, evened_spreads = [], []
    for key, documents in sorted(groups.items()):
        spread = half_range_percent([device_ms(document) for document in documents])
        if spread is None:
            continue
        profiles = compiled_profiles(documents)
        evened_spread = half_range_percent(evened_ms(profiles)) or 0.0
        spreads.append(spread)
        evened_spreads.append(evened_spread)
        benchmark, config, torch, gpu = key
        times = ", ".join(f"{device_ms(document):.5g}" for document in documents)
        cells = [
            benchmark,
            config,
            torch,
            gpu[:12],
            times,
            f"{spread:.2f}%",
            f"{evened_spread:.2f}%",
        ]
        cells += reasons(documents) if spread > limit else ["", "", "", ""]
        yield f"| {' | '.join(cells)} |"
    within, evened = (sum(each <= limit for each in every) for every in (spreads, evened_spreads))
    yield f"\n{within} of {len(spreads)} within ±{limit}%; with launches evened out {evened}"


def compiled_profiles(documents: Sequence[Document]) -> list[ArmProfile]:
    """Of the processes that have one."""
    profiles = (arm_profiles(document).get("compiled") for document in documents)
    return [profile for profile in profiles if profile is not None]


def reasons(documents: Sequence[Document]) -> list[str]:
    """The share of each kind in the time that the slowest process adds to the fastest; then the
    kernels that add most.
    """
    by_time = sorted(documents, key=device_ms)
    profiles = [arm_profiles(document).get("compiled") for document in (by_time[0], by_time[-1])]
    fastest, slowest = profiles
    diff = kernel_diff(fastest, slowest) if fastest and slowest else None
    if diff is None or not diff.added_ms:
        return ["", "", "", "no profile of both"]
    added = defaultdict[str, float](float)
    for change in diff.changes:
        if change.ms > 0:
            added[kind_of(change)] += change.ms
    shares = [f"{100 * added[kind] / diff.added_ms:.0f}%" for kind in KINDS]
    return [*shares, largest(diff)]


def kind_of(change: KernelChange) -> str:
    if change.match not in ("source", "name"):
        return OTHER
    base, new = set(map(launch, change.base)), set(map(launch, change.new))
    return ALIKE if base == new else OTHERWISE


def launch(kernel: Kernel) -> tuple[Any, ...]:
    return kernel.grid, kernel.block, kernel.registers


def largest(diff: KernelDiff) -> str:
    """The kernels that add most, with their milliseconds."""
    texts = []
    for change in diff.changes[:MOST_NAMED]:
        kernel = (change.new or change.base)[0]
        texts.append(f"{kernel.short_name} {change.base_ms:.3g} → {change.new_ms:.3g} ms")
    return "; ".join(texts)


def device_ms(document: Document) -> float:
    return float(document["metrics"]["device_ms"]["value"])


if __name__ == "__main__":
    main()
