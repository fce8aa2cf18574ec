"""Repeatability of drift, from results that GPUs left."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks_suite.harness import recorded
from dashboard.language.metrics import METRICS
from tests.lab.scatter import apart, values_of

DATA = Path(__file__).parents[2] / "data"
STUDIES = [*DATA.glob("*_h[12]00"), DATA / "drill"]
A_TENTH, HALF = 0.1, 0.5
Document = dict[str, Any]
FEWEST = 10  # cases and releases with several processes


METRICS_OF_DRIFT = ("drift", "eager_drift", "drift_gradients", "eager_drift_gradients")


def repeated(metric: str, documents: Iterable[Document]) -> list[Sequence[float]]:
    """List what the processes of one case and build measured, where there are several."""
    things = values_of(metric, list(documents)).values()
    return [
        processes for releases in things for processes in releases.values() if len(processes) > 1
    ]


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return [document for study in STUDIES for document in recorded.read(study)]


@pytest.mark.parametrize("metric", METRICS_OF_DRIFT)
def test_processes_with_the_same_code_lie_far_closer_than_the_threshold(
    metric: str, documents: list[Document]
) -> None:
    is_eager = metric.startswith("eager_")
    by_code = defaultdict[str, list[Document]](list)
    for document in documents:
        fingerprints = document.get("compile", {}).get("fingerprints", {})
        code = "eager" if is_eager else fingerprints.get("wrapper")
        if code:  # a job that kept none may have had any
            by_code[code].append(document)
    processes = [each for alike in by_code.values() for each in repeated(metric, alike)]
    assert len(processes) > FEWEST
    assert max(map(apart, processes)) < A_TENTH * METRICS[metric].threshold_percent


@pytest.mark.parametrize("metric", METRICS_OF_DRIFT)
def test_processes_of_one_build_lie_closer_than_the_threshold(
    metric: str, documents: list[Document]
) -> None:
    """Whatever code each got: whether a matmul is padded is chosen by timing, and rounds otherwise
    (7.6% in the MLP's last layer).
    """
    assert max(map(apart, repeated(metric, documents))) < HALF * METRICS[metric].threshold_percent


def test_values_that_differ_in_the_tenth_digit_are_the_same() -> None:
    assert apart([0.0016708643708259819, 0.001670864370936267]) == 0.0
