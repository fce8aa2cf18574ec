"""How far drift may be trusted to repeat, from results that GPUs left."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from benchmarks_suite.harness import recorded
from dashboard.language.metrics import METRICS
from tests.perf.scatter import apart, values_of

KEPT = sorted((Path(__file__).parents[2] / "data").glob("h[12]00_*"))
A_TENTH = 0.1
FEWEST = 10  # cases and releases with several processes


@pytest.mark.parametrize(
    "metric", ["drift", "eager_drift", "drift_gradients", "eager_drift_gradients"]
)
def test_processes_of_one_build_and_code_lie_far_closer_than_the_threshold(metric: str) -> None:
    """Of the same generated code: whether a matmul is padded is chosen by timing, and rounds
    otherwise (7.6% in the MLP's last layer).
    """
    by_code = defaultdict[str, list[dict[str, Any]]](list)
    for folder in KEPT:
        for document in recorded.read(folder):
            code = document.get("compile", {}).get("fingerprints", {}).get("wrapper")
            by_code["" if metric.startswith("eager_") else str(code)].append(document)
    things = [
        values for documents in by_code.values() for values in values_of(metric, documents).values()
    ]
    repeated = [
        processes for releases in things for processes in releases.values() if len(processes) > 1
    ]
    assert len(repeated) > FEWEST
    assert max(map(apart, repeated)) < A_TENTH * METRICS[metric].threshold_percent


def test_values_that_differ_in_the_tenth_digit_are_the_same() -> None:
    assert apart([0.0016708643708259819, 0.001670864370936267]) == 0.0
