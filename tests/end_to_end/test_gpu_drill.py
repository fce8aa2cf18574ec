"""The GPU drill's judgement, of result files whose change is known."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import site
from tests.end_to_end.gpu_drill import JUDGED, PLAIN
from tests.end_to_end.gpu_drill_judging import Finding, findings

LATENCIES = (10.0, 10.1, 9.9, 10.05)
GRAPHS = {"wrapper": "a", "kernels": "b"}


def side(folder: Path, times: float = 1.0, eager: float = 1.0, kernels: str = "b", **more: Any) -> Path:
    """Four processes; the compiled and the eager step take so many times as long as usual."""
    for number, latency in enumerate(LATENCIES):
        values = {"latency_ms": latency * times, "eager_latency_ms": 2 * latency * eager, "peak_memory_gb": 2.0, **more}
        document = {
            "status": "pass", "metrics": {key: {"value": value} for key, value in values.items()},
            "environment": site.environment(), "compile": {"fingerprints": {**GRAPHS, "kernels": kernels}},
        }  # fmt: skip
        place = folder / f"{number:03d}"
        place.mkdir(parents=True)
        (place / "result.json").write_text(json.dumps(document))
    return folder


def found(tmp_path: Path, **changed: Any) -> list[Finding]:
    return findings(side(tmp_path / PLAIN), side(tmp_path / "variant", **changed), JUDGED)


def test_slower_code_is_the_compilers(tmp_path: Path) -> None:
    (only,) = found(tmp_path, times=1.1, kernels="c")
    assert (only.metric, only.cause) == ("latency_ms", "compiler")
    assert only.effect.startswith("+10 %")


def test_what_eager_shows_as_well_is_not_the_compilers(tmp_path: Path) -> None:
    (only,) = found(tmp_path, times=1.1, eager=1.1)
    assert only.cause == "eager"


def test_memory_that_repeats_exactly_needs_no_statistics(tmp_path: Path) -> None:
    (only,) = found(tmp_path, peak_memory_gb=2.5)
    assert (only.metric, only.effect) == ("peak_memory_gb", "+25 % (+25 to +25)")


def test_the_control_is_silent(tmp_path: Path) -> None:
    assert found(tmp_path) == []


@pytest.mark.parametrize("times", [1.004, 0.996])
def test_less_than_is_worth_telling_is_not_told(tmp_path: Path, times: float) -> None:
    assert found(tmp_path, times=times) == []
