"""PyTorch's own way to measure, next to ours: tests/perf/field_runner.py."""

import json
from pathlib import Path

import pytest
import torch
from torch import nn

from benchmarks_suite.harness.arms import Arm
from benchmarks_suite.harness.contract import Document
from benchmarks_suite.harness.timing import Stopwatch
from tests.perf import field_runner
from tests.perf.field_runner import REPEATS
from tests.perf.field_runner_report import OURS, THEIRS, report, speedup_of


def turn(way: str, eager: list[float], compiled: list[float]) -> Document:
    return {"way": way, "seconds": 1.0, "eager": eager, "compiled": compiled}


def process(*turns: Document) -> Document:
    return {
        "name": "alexnet",
        "process": 0,
        "benchmark": "alexnet.smoke.inference.float32.static.b2",
        "device": "a GPU",
        "torch": "2.11.0",
        "import_s": 8.0,
        "seconds": {"build_s": 1.0, "eager_warm_up_s": 0.5, "compiled_warm_up_s": 9.5},
        "turns": turns,
    }


def test_their_turn_takes_eager_and_compiled_in_turn() -> None:
    steps: list[str] = []

    def arm(name: str) -> Arm:
        return Arm(name, nn.Identity(), lambda batch: steps.append(name), None, lambda: None)

    arms = [arm("eager"), arm("compiled")]
    samples = field_runner.their_turn(Stopwatch(torch.device("cpu"), [{}]), arms, {})
    assert steps == ["eager", "compiled"] * REPEATS
    assert len(samples["compiled"]) == REPEATS


def test_their_speedup_is_the_quotient_of_medians() -> None:
    assert speedup_of(turn(THEIRS, [1.0, 4.0, 9.0], [1.0, 2.0, 4.0])) == 2.0


def test_our_speedup_is_the_median_of_the_pairs() -> None:
    assert speedup_of(turn(OURS, [1.0, 4.0, 9.0], [1.0, 1.0, 1.0])) == pytest.approx(4)


def test_report_counts_what_lies_in_our_interval() -> None:
    ours = turn(OURS, [10.0] * 20, [5.0] * 20)
    line = process(
        turn(THEIRS, [10.0] * 30, [5.0] * 30), ours, turn(THEIRS, [9.0] * 30, [5.0] * 30)
    )
    text = "\n".join(report([line], []))
    assert "| alexnet | 9.5, 5 | 10, 5 | 2.0000, 1.8000 | 2.0000 | 1 of 2 |" in text
    assert "Theirs inside our interval of the same process: 1 of 2" in text
    assert "20.0 s a case" in text  # 8 imports, 11 of the process, 1 of a turn


def test_report_names_a_process_that_ended_otherwise() -> None:
    lines = [{"name": "vgg16", "process": 1, "error": "ended after 180 s"}]
    assert list(report(lines, [])) == ["vgg16, process 1: ended after 180 s"]


@pytest.mark.slow
def test_a_name_is_measured_both_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out.jsonl"
    arguments = ["measure", str(out), "--size", "smoke", "--device", "cpu", "--threads", "1"]
    arguments += ["--only", "distilbertformaskedlm", "--processes", "1", "--budget-s", "1"]
    monkeypatch.setattr("sys.argv", ["field_runner", *arguments])
    monkeypatch.setattr("benchmarks_suite.harness.forks.with_fixed_hashes", lambda: None)
    field_runner.main()
    (line,) = map(json.loads, out.read_text().splitlines())
    assert [each["way"] for each in line["turns"]] == [THEIRS, OURS, THEIRS]
