"""The GPU drill's judgement: of result files whose change is known, and of those that GPUs left."""

import json
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks_suite.harness import recorded
from dashboard.alerts.core.confirmation import FEWEST, MOST
from tests.builders import site
from tests.end_to_end.gpu_drill import (
    CONTROL,
    JUDGED,
    ON_CPU,
    ON_GPU,
    PLAIN,
    WARM_UP,
    Injection,
    judge,
    measure,
)
from tests.end_to_end.gpu_drill_judging import Finding, findings
from tests.end_to_end.gpu_drill_pairs import KEPT, labels, read, wants_more

H100 = Path(__file__).parents[1] / "data" / "h100_drill"
H200 = H100.with_name("h200_drill")
LATENCIES = (10.0, 10.1, 9.9, 10.05)
SCATTERED = (2.7, 1.7, 1.5, 1.6)
GRAPHS = {"wrapper": "a", "kernels": "b"}

STAND_IN = """#!{python}
# In place of an interpreter with torch: interleave's results, a turn for each line of the list.
import json, sys
from pathlib import Path
turns = len(Path(sys.argv[4]).read_text().splitlines())
for flag, word in zip(sys.argv, sys.argv[1:]):
    if flag != "--build":
        continue
    label = word.partition("=")[0]
    for turn in range(turns):
        place = Path(sys.argv[5]) / label / f"{{turn + 1:03d}}"
        place.mkdir(parents=True, exist_ok=True)
        times = ({times} + [1.6] * turns)[turn] if label == "slower" else 1
        metrics = {{"latency_ms": {{"value": (10 + turn % 3 / 10) * times}}}}
        document = {{"schema": "result.v1", "status": "pass", "metrics": metrics}}
        (place / "result.json").write_text(json.dumps(document))
"""


def side(
    group: Path,
    label: str,
    times: float | tuple[float, ...] = 1.0,
    eager: float = 1.0,
    kernels: str = "b",
    turns: int = FEWEST,
    **more: Any,
) -> None:
    """A process for each turn; the compiled and the eager step take so many times as long as
    usual.
    """
    for turn in range(turns):
        latency, each = LATENCIES[turn % 4], times[turn % 4] if isinstance(times, tuple) else times
        values = {
            "latency_ms": latency * each,
            "eager_latency_ms": 2 * latency * eager,
            "peak_memory_gb": 2.0,
            **more,
        }
        document = {
            "schema": "result.v1",
            "status": "pass",
            "metrics": {key: {"value": one} for key, one in values.items()},
            "environment": site.environment(),
            "compile": {"fingerprints": {**GRAPHS, "kernels": kernels}},
        }
        place = group / label / f"{turn:03d}"
        place.mkdir(parents=True)
        (place / "result.json").write_text(json.dumps(document))


def found(group: Path, turns: int = FEWEST, **changed: Any) -> list[Finding]:
    side(group, PLAIN, turns=turns)
    side(group, "variant", turns=turns, **changed)
    return findings(read(group, PLAIN), read(group, "variant"), JUDGED)


def test_slower_code_is_the_compilers(tmp_path: Path) -> None:
    (only,) = found(tmp_path, times=1.1, kernels="c")
    assert only.metric == "latency_ms"
    assert only.cause == "compiler"
    assert only.effect.startswith("+10%")


def test_what_eager_shows_as_well_is_not_the_compilers(tmp_path: Path) -> None:
    (only,) = found(tmp_path, times=1.1, eager=1.1)
    assert only.cause == "eager"


def test_slower_kernels_show_in_the_devices_time(tmp_path: Path) -> None:
    side(tmp_path, PLAIN, device_ms=5.0, eager_device_ms=9.0)
    side(tmp_path, "variant", kernels="c", device_ms=5.5, eager_device_ms=9.0)
    (only,) = findings(read(tmp_path, PLAIN), read(tmp_path, "variant"), JUDGED)
    assert only.metric == "device_ms"
    assert only.cause == "compiler"


def test_more_compile_calls_are_the_compilers(tmp_path: Path) -> None:
    side(tmp_path, PLAIN, compile_calls=970_000)
    side(tmp_path, "variant", compile_calls=1_018_500)
    (only,) = findings(read(tmp_path, PLAIN), read(tmp_path, "variant"), JUDGED)
    assert only.metric == "compile_calls"
    assert only.cause == "compiler"


@pytest.mark.parametrize("table", [ON_CPU, ON_GPU])
def test_both_drills_change_a_kernel_and_the_compilers_work(table: Sequence[Injection]) -> None:
    metrics = {metric for injection in table for metric in injection.metrics}
    assert metrics >= {"device_ms", "compile_calls"}


def test_memory_that_repeats_exactly_needs_no_statistics(tmp_path: Path) -> None:
    (only,) = found(tmp_path, peak_memory_gb=2.5)
    assert only.metric == "peak_memory_gb"
    assert only.effect == "+25% (+25 to +25)"


def test_the_control_is_silent(tmp_path: Path) -> None:
    assert found(tmp_path) == []


@pytest.mark.parametrize("times", [1.004, 0.996])
def test_less_than_is_worth_telling_is_not_told(tmp_path: Path, times: float) -> None:
    assert found(tmp_path, times=times) == []


def test_what_four_pairs_do_not_decide_is_told_with_what_they_say(tmp_path: Path) -> None:
    (only,) = found(tmp_path, times=SCATTERED)
    assert only.metric == "latency_ms"
    assert only.state == "undecided"
    assert only.cause == ""
    assert only.effect.startswith("after 4 pairs not decided: +82")
    assert only.evidence == f"The site would measure on, up to {MOST} pairs."


def test_after_the_most_pairs_nobody_would_measure_on(tmp_path: Path) -> None:
    (only,) = found(tmp_path, turns=MOST, times=(3.0, 0.5, 2.5, 0.9))
    assert only.state == "undecided"
    assert only.evidence == "The site would call it inconclusive."
    assert not wants_more(tmp_path, PLAIN, {"variant": ["latency_ms"]})


def test_too_few_turns_are_not_nothing(tmp_path: Path) -> None:
    (only,) = found(tmp_path, turns=FEWEST - 1, times=1.1)
    assert only.state == "unfinished"
    assert only.effect == "3 of the 4 turns that a first look needs"


def test_a_turn_that_failed_on_one_side_makes_no_pair_with_another_turn(tmp_path: Path) -> None:
    side(tmp_path, PLAIN, turns=5)
    side(tmp_path, "variant", turns=5)
    failed = tmp_path / "variant" / "000" / "result.json"
    failed.write_text(json.dumps({**json.loads(failed.read_text()), "metrics": {}}))
    assert findings(read(tmp_path, PLAIN), read(tmp_path, "variant"), ["latency_ms"]) == []


@pytest.mark.parametrize(
    ("turns", "times", "more"),
    [
        (FEWEST, SCATTERED, True),
        (FEWEST - 1, 1.0, True),
        (FEWEST, 1.0, False),
        (FEWEST, 1.5, False),
    ],
)
def test_one_more_turn_is_wanted_while_the_pairs_do_not_decide(
    tmp_path: Path, turns: int, times: float | tuple[float, ...], more: bool
) -> None:
    found(tmp_path, turns=turns, times=times)
    assert wants_more(tmp_path, PLAIN, {"variant": ["latency_ms"]}) == more


@pytest.mark.parametrize(
    ("times", "turns"), [([1.6, 1.61, 1.59, 1.6], 4), ([2.0, 1.3, 1.7, 1.6], 5)]
)
def test_measuring_goes_on_until_the_pairs_decide(
    tmp_path: Path, times: list[float], turns: int
) -> None:
    python = tmp_path / "python"
    python.write_text(STAND_IN.format(python=sys.executable, times=times))
    python.chmod(0o700)
    given = Namespace(
        out=tmp_path / "out", device="cpu", python=str(python), minutes=5, turns=FEWEST, budget_s=1
    )
    assert measure(given, ON_CPU[:1]) == 0
    assert [len(read(given.out / "slower", label)) for label in (PLAIN, "slower", CONTROL)] == [
        turns
    ] * 3
    assert len(read(given.out / WARM_UP / "slower", PLAIN)) == 1


def test_kept_files_say_what_the_folders_said(tmp_path: Path) -> None:
    said = found(tmp_path / "folders", times=1.1, kernels="c")
    for label in labels(tmp_path / "folders"):
        recorded.keep(
            recorded.read(tmp_path / "folders" / label), tmp_path / "kept" / f"{label}{KEPT}"
        )
    kept = tmp_path / "kept"
    assert labels(kept) == {PLAIN, "variant"}
    assert findings(read(kept, PLAIN), read(kept, "variant"), JUDGED) == said


@pytest.mark.parametrize(
    ("label", "metric", "state", "cause"),
    [
        ("slower", "latency_ms", "confirmed", "compiler"),
        ("heavier", "peak_memory_gb", "confirmed", "compiler"),
        ("inexact", "drift", "confirmed", "compiler"),
        ("later", "cold_start_s", "confirmed", "compiler"),
    ],
)
def test_what_was_injected_on_the_h100(
    label: str,
    metric: str,
    state: str,
    cause: str,
) -> None:
    group = H100 / ("inexact" if label == "inexact" else "slower")
    told = findings(read(group, PLAIN), read(group, label), JUDGED)
    assert (metric, state, cause) in {(one.metric, one.state, one.cause) for one in told}


@pytest.mark.parametrize(
    ("label", "metric"), [("slower", "device_ms"), ("busier", "compile_calls")]
)
def test_what_was_injected_on_the_h200(label: str, metric: str) -> None:
    rows = findings(read(H200 / label, PLAIN), read(H200 / label, label), [metric])
    assert [(row.state, row.cause) for row in rows] == [("confirmed", "compiler")]


@pytest.mark.parametrize("label", ["slower", "busier"])
def test_no_control_of_the_h200_is_confirmed(label: str) -> None:
    rows = findings(read(H200 / label, PLAIN), read(H200 / label, "again"), JUDGED)
    assert "confirmed" not in {row.state for row in rows}


@pytest.mark.parametrize("group", ["slower", "inexact"])
def test_the_controls_of_the_h100_are_silent(group: str) -> None:
    assert findings(read(H100 / group, PLAIN), read(H100 / group, "again"), JUDGED) == []


def test_the_table_of_the_h100_is_what_judge_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert judge(H100, ON_GPU) == 0
    assert capsys.readouterr().out == (H100 / "drill.md").read_text()


def test_the_table_of_the_h200_is_what_judge_prints(capsys: pytest.CaptureFixture[str]) -> None:
    measured = [injection for injection in ON_GPU if injection.name in ("slower", "busier")]
    assert judge(H200, measured) == 0
    assert capsys.readouterr().out == (H200 / "drill.md").read_text()
