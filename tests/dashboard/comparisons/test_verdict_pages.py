"""Pages as `tests/perf/verdicts.py` simulates them: headline, tables and gate never disagree."""

import numpy as np
import pytest

from tests.perf.verdict_situations import SITUATIONS, Situation
from tests.perf.verdicts import Counts, Page


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.name)
def test_headline_tables_and_gate_agree(situation: Situation) -> None:
    rng, counts = np.random.default_rng(7), Counts()
    for _ in range(3):
        counts.add(Page(situation, rng))
    assert (counts.pages, counts.disagree) == (3, 0)
