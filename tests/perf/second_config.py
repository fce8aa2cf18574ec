"""What a second config changes: the same cases and releases, one process of each config.

    python -m tests.perf.second_config inductor inductor_reduce_overhead RESULTS... [--kernel gelu]

RESULTS: as `benchmarks_suite compare` takes them; the newest result of a case counts. For each
release it prints the device's time, the step and the peak memory in the first and in the second
config, and how much of the device time that the slower process adds is in kernels of the same
source that were launched otherwise (kernel_choices.py); then what is usual. With --kernel it counts
how kernels with this word in their name were launched, in threads a block: who compares two
releases by one process each sees such a choice as a change.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks_suite.harness import recorded
from benchmarks_suite.harness.contract import Document
from tests.perf.kernel_choices import OTHERWISE, reasons

METRICS = ("device_ms", "eager_device_ms", "latency_ms", "peak_memory_gb")
HEADS = ("benchmark", "device time, ms", "step, ms", "peak memory, GB", OTHERWISE, "most")
MOSTLY_PERCENT = 2.0  # a smaller difference of the device's time needs no reason
LEAST_CALLS = 4  # in a step, of a kernel that each layer calls
Pair = tuple[Document, Document]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("results", nargs="+", type=Path)
    parser.add_argument("--kernel", default="")
    options = parser.parse_args()
    pairs = paired(options.results, options.first, options.second)
    for release, of_release in sorted(pairs.items()):
        print("\n".join(report(release, of_release)))
        if options.kernel:
            print(launches(of_release.values(), options.kernel))


def paired(paths: Sequence[Path], first: str, second: str) -> dict[str, dict[str, Pair]]:
    """Release -> benchmark -> its result in both configs."""
    newest = dict[tuple[str, str, str], Document]()
    documents = [document for path in paths for document in recorded.read(path)]
    for document in sorted(documents, key=lambda document: str(document["started_at"])):
        if document["status"] == "pass" and "device_ms" in document["metrics"]:
            release = document["environment"]["torch"]["version"]
            newest[release, *recorded.case(document)] = document
    pairs: dict[str, dict[str, Pair]] = defaultdict(dict)
    for (release, benchmark, config), document in newest.items():
        other = newest.get((release, benchmark, second))
        if config == first and other:
            pairs[release][benchmark] = (document, other)
    return pairs


def report(release: str, pairs: Mapping[str, Pair]) -> Iterator[str]:
    yield f"\n{release}\n\n| {' | '.join(HEADS)} |\n{'|---' * len(HEADS)}|"
    for benchmark, pair in sorted(pairs.items()):
        times, steps, memory = (arrow(pair, name) for name in (METRICS[0], *METRICS[2:]))
        share, _, _, most = reasons(pair) if far_apart(pair) else ("", "", "", "")
        yield f"| {benchmark} | {times} | {steps} | {memory} | {share} | {most} |"
    yield ""
    for metric in METRICS:
        percents = sorted(change_percent(pair, metric) for pair in pairs.values())
        yield (
            f"{metric}: {percents[0]:+.1f} to {percents[-1]:+.1f}%, median {median(percents):+.1f}%"
            f" of {len(percents)}"
        )
    skipped = sum(bool(second["compile"]["cudagraph_skips"]) for _, second in pairs.values())
    yield f"CUDA graphs were skipped in {skipped} of {len(pairs)}"


def far_apart(pair: Pair) -> bool:
    return abs(change_percent(pair, "device_ms")) > MOSTLY_PERCENT


def change_percent(pair: Pair, metric: str) -> float:
    first, second = (float(document["metrics"][metric]["value"]) for document in pair)
    return 100 * (second / first - 1)


def arrow(pair: Pair, metric: str) -> str:
    return " → ".join(f"{document['metrics'][metric]['value']:.4g}" for document in pair)


def launches(pairs: Iterable[Pair], word: str) -> str:
    """How many kernels have how many threads a block, in the first and in the second config."""
    counts: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
    for pair in pairs:
        for counter, document in zip(counts, pair, strict=True):
            counter.update(threads(document, word))
    texts = [", ".join(f"{count} of {size}" for size, count in sorted(c.items())) for c in counts]
    return f"{word}, threads a block: {texts[0]}; in the second config {texts[1]}"


def threads(document: Document, word: str) -> Iterator[int]:
    """The size of a block, of each kernel of Inductor's with this word that a layer calls."""
    for kernel in document["profile"]["compiled"]["kernels"]:
        is_inductors = kernel["name"].startswith("triton_") and word in kernel["name"]
        if is_inductors and kernel["calls"] >= LEAST_CALLS:
            yield int(kernel["block"][0])


if __name__ == "__main__":
    main()
