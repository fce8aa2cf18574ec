"""How well the device's time repeats, next to the wall clock of the same steps.

    python -m tests.perf.device_time RESULTS...

RESULTS: as `benchmarks_suite compare` takes them. For each case and build with several processes it
prints the mean of both clocks and half the range between processes, then how the device's time
compares with the wall clock where the device is the bottleneck (its share is 95% or more), and
what profiling added to the jobs.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from statistics import fmean, median

from benchmarks_suite.harness import recorded
from benchmarks_suite.harness.contract import Document

CLOCKS = ("device_ms", "eager_device_ms", "latency_ms", "eager_latency_ms")
BOUND_PERCENT = 95.0


def main(arguments: Sequence[str]) -> None:
    groups: dict[tuple[str, str, str], list[Document]] = defaultdict(list)
    for argument in arguments:
        for document in recorded.read(Path(argument)):
            if document["status"] == "pass" and "device_ms" in document["metrics"]:
                torch = document["environment"]["torch"]["version"]
                groups[*recorded.case(document), torch].append(document)
    print("\n".join(report(groups)))


def report(groups: dict[tuple[str, str, str], list[Document]]) -> Iterator[str]:
    heads = " | ".join(f"{clock} | ±" for clock in CLOCKS)
    yield f"| benchmark | config | torch | n | {heads} | share | kernels | clock, MHz |"
    yield f"|---|---|---|---|{'---|---|' * len(CLOCKS)}---|---|---|"
    widest: dict[str, list[float]] = defaultdict(list)
    for name, documents in sorted(groups.items()):
        cells = [*name, str(len(documents))]
        for clock in CLOCKS:
            values = _values(documents, clock)
            cells.append(f"{fmean(values):.5g}" if values else "")
            spread = half_range_percent(values)
            cells.append("" if spread is None else f"{spread:.2f}%")
            if spread is not None:
                widest[clock].append(spread)
        for key in ("device_share_percent", "kernels"):
            values = _values(documents, key)
            cells.append(" ".join(f"{value:.4g}" for value in values))
        cells.append(" ".join(map(str, _clocks(documents))))
        yield f"| {' | '.join(cells)} |"
    yield ""
    for clock, spreads in widest.items():
        yield (
            f"{clock}: median ±{median(spreads):.2f}%, widest ±{max(spreads):.2f}% of "
            f"{len(spreads)} cases and builds"
        )
    bound = [*_bound(groups)]
    if bound:
        yield (
            f"Where the device is the bottleneck ({len(bound)} results) its time is, in percent of "
            f"the wall clock: {min(bound):.2f} to {max(bound):.2f}, median {median(bound):.2f}"
        )

    documents = list(chain(*groups.values()))
    added = [added_percent([document]) for document in documents]
    yield (
        f"Profiling added {added_percent(documents):.1f}% to the time of these jobs, "
        f"{min(added):.1f} to {max(added):.1f}% to one"
    )


def added_percent(documents: Sequence[Document]) -> float:
    """The stage `profile` in percent of all others."""
    profile_s, whole_s = 0.0, 0.0
    for document in documents:
        stages: dict[str, float] = document["wall_s"]
        profile_s += stages.get("profile", 0.0)
        whole_s += sum(stages.values())
    return 100 * profile_s / (whole_s - profile_s)


def half_range_percent(values: Sequence[float]) -> float | None:
    """Half the range over the mean; None of a single value."""
    if len(values) < 2 or not fmean(values):
        return None
    return (max(values) - min(values)) / 2 / fmean(values) * 100


def _bound(groups: dict[tuple[str, str, str], list[Document]]) -> Iterator[float]:
    for documents in groups.values():
        shares = _values(documents, "device_share_percent")
        yield from (share for share in shares if share >= BOUND_PERCENT)


def _clocks(documents: Sequence[Document]) -> list[float | None]:
    clocks: list[float | None] = []
    for document in documents:
        profile = document.get("profile", {})
        own = profile.get("compiled") or profile.get("eager") or {}
        clocks.append(own.get("clock_mhz"))
    return clocks


def _values(documents: Sequence[Document], key: str) -> list[float]:
    entries = [document["metrics"].get(key) for document in documents]
    return [entry["value"] for entry in entries if entry]


if __name__ == "__main__":
    main(sys.argv[1:])
