"""Do two GPUs agree about what a release changed, and better once launches are evened out?

    python -m tests.perf.evened_launches RESULTS...

RESULTS: as `benchmarks_suite compare` takes them, of two releases or more on two GPUs or more, each
with two processes or more. For each case and two neighbouring releases it prints what every GPU's
pairs of processes say of the GPU's own time, and what they say evened out
(dashboard/results/core/launches.py); then how far apart the middles of two GPUs are.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise, product
from pathlib import Path
from statistics import median

from dashboard.results.core.kernel_profile import ArmProfile
from dashboard.results.core.launches import evened_change
from tests.perf.kernel_choices import compiled_profiles, grouped

Range = tuple[float, float]  # of a change, in percent
Processes = dict[str, dict[str, list[ArmProfile]]]  # of a case, by GPU and torch


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", nargs="+", type=Path)
    print("\n".join(report(cases(parser.parse_args().results))))


def cases(paths: Sequence[Path]) -> dict[str, Processes]:
    by_case: dict[str, Processes] = defaultdict(lambda: defaultdict(dict))
    for (benchmark, config, torch, gpu), documents in grouped(paths).items():
        profiles = compiled_profiles(documents)
        by_case[f"{benchmark} {config}"][gpu][torch] = profiles
    return by_case


def report(by_case: Mapping[str, Processes]) -> Iterator[str]:
    yield "| case | releases | GPU | pairs, % | evened out, % |"
    yield "|---|---|---|---|---|"
    apart: list[tuple[float, float]] = []
    for case, by_gpu in sorted(by_case.items()):
        releases = sorted({torch for by_torch in by_gpu.values() for torch in by_torch})
        for old, new in pairwise(releases):
            changes = {}
            for gpu, by_torch in sorted(by_gpu.items()):
                changed = _changes(by_torch.get(old, ()), by_torch.get(new, ()))
                if changed is not None:
                    changes[gpu] = changed
            if len(changes) < 2:
                continue
            for gpu, ranges in changes.items():
                texts = (f"{low:+.2f} to {high:+.2f}" for low, high in ranges)
                yield f"| {case} | {old} → {new} | {gpu[:12]} | {' | '.join(texts)} |"
            for one, other in combinations(changes.values(), 2):
                raw, even = (abs(sum(a) - sum(b)) / 2 for a, b in zip(one, other, strict=True))
                apart.append((raw, even))
    for name, values in (
        ("pairs", [raw for raw, _ in apart]),
        ("evened out", [even for _, even in apart]),
    ):
        if values:
            yield (
                f"\n{name}: two GPUs are {median(values):.2f} points apart in the median, "
                f"{max(values):.2f} at most, in {len(values)} changes"
            )


def _changes(base: Sequence[ArmProfile], new: Sequence[ArmProfile]) -> tuple[Range, Range] | None:
    """What the pairs of processes say, and what they say evened out; None of too few processes."""
    even = evened_change([(base, new)])
    if even is None:
        return None
    pairs = [100 * (b.total_ms / a.total_ms - 1) for a, b in product(base, new)]
    return (min(pairs), max(pairs)), (even.least, even.most)


if __name__ == "__main__":
    main()
