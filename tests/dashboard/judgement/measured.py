"""Pairs as tests draw them."""

import numpy as np

from dashboard.judgement.experiment import Measured
from dashboard.judgement.pairs import Pair
from dashboard.language.metrics import METRICS, Metric

LATENCY = METRICS["latency_ms"]
MEMORY = METRICS["peak_memory_gb"]


def drawn(
    seed: int, effects: list[float], pairs: int, noise: float = 0.01, sessions: int = 1
) -> list[Measured]:
    """Cases whose new side is slower by such logs; of one seed more pairs begin with the same."""
    rng = np.random.default_rng(seed)
    cases = []
    for case, effect in enumerate(effects):
        values = np.exp(rng.normal([0, effect], noise, (20, 2)))[:pairs]
        places = np.arange(20) * sessions // pairs
        measured = [
            Pair(base, new, str(place))
            for (base, new), place in zip(values.tolist(), places, strict=False)
        ]
        cases.append(Measured(case, LATENCY, measured))
    return cases


def repeated(values: list[tuple[float, float]], metric: Metric = MEMORY) -> Measured:
    """One case, measured in these pairs."""
    return Measured("case", metric, [Pair(*pair) for pair in values])
