"""Sides of a comparison, in memory: one case of GPT-2 with the values that a test names."""

import numpy as np

from dashboard.comparisons.core.block_effects import Block
from dashboard.comparisons.core.case_samples import CaseSamples
from dashboard.comparisons.core.levels import level_of
from dashboard.comparisons.core.libraries import Libraries
from dashboard.comparisons.core.matching import CaseMeasurements, ComparedCase, Side

STEADY = (100.0, 100.3, 99.8) * 2  # six processes that differ by little


def samples(
    values: tuple[float, ...] = STEADY,
    factor: float = 1.0,
    version: int = 1,
    libraries: Libraries = (),
    device: str = "gpu-0",
) -> CaseSamples:
    numbers = [value * factor for value in values]
    return CaseSamples(
        version=version,
        libraries=libraries,
        level=level_of(numbers, block=Block(device, "today")) if min(numbers) > 0 else None,
        n=len(numbers),
        least=min(numbers),
        most=max(numbers),
        mean=float(np.mean(numbers)),
    )


def side(
    samples_of: dict[str, CaseSamples],
    config: str = "inductor",
    failures: dict[str, int] | None = None,
) -> Side:
    """One case of gpt2 with these metrics."""
    case = ComparedCase("gpt2.training", config, "gpt2", "llm", "training")
    by_metric = {metric: [each] for metric, each in samples_of.items()}
    return {case.key: CaseMeasurements(case, by_metric, failures or {})}


def latency(**given: float | int | str | Libraries | tuple[float, ...]) -> Side:
    return side({"latency_ms": samples(**given)})  # type: ignore[arg-type]
