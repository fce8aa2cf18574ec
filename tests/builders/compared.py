"""Sides of a comparison, in memory: one case of GPT-2 with the values that a test names."""

from collections.abc import Sequence

import numpy as np

from dashboard.comparisons.core.case_samples import CaseSamples, ProcessValue
from dashboard.comparisons.core.levels import Block, level_of
from dashboard.comparisons.core.libraries import Libraries
from dashboard.comparisons.core.matching import CaseMeasurements, ComparedCase, Key, Side

STEADY = (100.0, 100.3, 99.8) * 2  # six processes that differ by little
SHIFTED = (100.2, 99.9, 100.1) * 2  # those of another build


def samples(
    values: Sequence[float] = STEADY,
    factor: float = 1.0,
    version: int = 1,
    libraries: Libraries = (),
    device: str = "gpu-0",
    session: str = "today",
) -> CaseSamples:
    """One value from each process, in the order of their starts: two sides of one block take
    turns.
    """
    numbers = [value * factor for value in values]
    block = Block(device, session)
    processes = [ProcessValue(block, start, value) for start, value in enumerate(numbers)]
    return CaseSamples(
        version=version,
        libraries=libraries,
        level=level_of(numbers, block=block) if min(numbers) > 0 else None,
        n=len(numbers),
        least=min(numbers),
        most=max(numbers),
        mean=float(np.mean(numbers)),
        processes=tuple(processes),
    )


def side(
    samples_of: dict[str, CaseSamples],
    config: str = "inductor",
    failures: dict[str, int] | None = None,
    widest: dict[str, float] | None = None,
) -> dict[Key, CaseMeasurements]:
    """One case of gpt2 with these metrics."""
    case = ComparedCase("gpt2.training", config, "gpt2", "llm", "training")
    by_metric = {metric: [each] for metric, each in samples_of.items()}
    measured = CaseMeasurements(case, by_metric, failures or {}, widest=widest or {})
    return {case.key: measured}


def latency(**given: float | str | Libraries | Sequence[float]) -> Side:
    return side({"latency_ms": samples(**given)})  # type: ignore[arg-type]
