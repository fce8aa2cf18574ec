"""The diagnostic start: what the compiler says of itself is kept, and nothing of it is measured."""

import lzma
import tarfile
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks_suite.harness import diagnostic_start, records
from dashboard.results.core import structured_trace
from dashboard.results.core.structured_trace import MOST_BYTES
from dashboard.results.core.untrusted import archived_files
from tests.builders.measured_jobs import MLP, run

ENTRY = b'V1124 22:40:01.123456 1 x.py:1] {"has_payload": "0"}\n'
BREAKING = """\
import torch

class Breaking(torch.nn.Module):
    def forward(self, x):
        torch._dynamo.graph_break()
        return x + 1

def benchmark_breaking():
    return Breaking(), torch.randn(1, 4)
"""


def test_cut_trace_ends_with_a_whole_entry(tmp_path: Path) -> None:
    trace = tmp_path / "a.log"
    trace.write_bytes((ENTRY + b"\tdef f():\n\t    pass\n") * 3)
    first = len(ENTRY + b"\tdef f():\n\t    pass\n")
    for most in (first, first + 5, first + len(ENTRY) + 3):
        assert len(records.whole_entries(trace, most)) == first


def test_trace_that_fits_is_kept_whole(tmp_path: Path) -> None:
    trace = tmp_path / "a.log"
    trace.write_bytes(ENTRY)
    assert records.whole_entries(trace, len(ENTRY)) == ENTRY


def test_what_was_cut_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_BYTES", len(ENTRY))
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "a.log").write_bytes(ENTRY * 3)
    [file] = records.keep(tmp_path / "traces", tmp_path / "none.log", tmp_path).values()
    assert file["bytes"] == 3 * len(ENTRY)
    assert file["cut_bytes"] == 2 * len(ENTRY)


def test_largest_trace_comes_first_and_all_of_them_have_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "MOST_IN_ALL", 2 * len(ENTRY))
    traces = tmp_path / "traces"
    traces.mkdir()
    (traces / "small.log").write_bytes(ENTRY)
    (traces / "large.log").write_bytes(ENTRY * 2)
    files = records.keep(traces, tmp_path / "none.log", tmp_path)
    cut_bytes = {name: file["cut_bytes"] for name, file in files.items()}
    assert cut_bytes == {"large.log": 0, "small.log": len(ENTRY)}
    with tarfile.open(tmp_path / records.TRACE) as archive:
        assert archive.getnames() == ["large.log"]


def test_log_that_is_too_large_loses_its_middle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "MOST_LOG_BYTES", 10)
    log = tmp_path / "compiler.log"
    log.write_bytes(b"begin" + b"x" * 90 + b"ended")
    [file] = records.keep(tmp_path / "none", log, tmp_path).values()
    text = lzma.decompress((tmp_path / records.LOG).read_bytes()).decode()
    assert text == "begin\n[90 bytes are left out here]\nended"
    assert file["cut_bytes"] == 90


def test_logs_that_a_release_lacks_are_not_asked_for() -> None:
    def set_logs(*, dynamo: int = 0, guards: bool = False) -> None:
        assert dynamo
        assert guards

    assert diagnostic_start.turn_on_logs(set_logs) == ["dynamo", "guards"]


def test_release_without_a_structured_trace_is_named() -> None:
    assert "2.3 and newer do" in diagnostic_start.why_no_trace(object())
    assert diagnostic_start.why_no_trace(torch._logging) == diagnostic_start.NOTHING_COMPILED


def artifact(folder: Path, name: str) -> bytes:
    return (folder / "out" / "artifacts" / name).read_bytes()


@pytest.mark.compiles
def test_graphs_can_be_read_from_the_trace(started_folder: Path, started: dict[str, Any]) -> None:
    assert started["status"] == "pass"
    traces = archived_files(artifact(started_folder, records.TRACE), "trace", MOST_BYTES)
    graphs = structured_trace.graph_files(traces.values())
    kinds = {name.partition("/")[0] for name in graphs}
    assert {"dynamo_output_graph", "aot_inference_graph", "inductor_post_grad_graph"} <= kinds
    assert "torch.ops.aten" in graphs["aot_inference_graph/0_0_0.txt"]


@pytest.mark.compiles
def test_log_has_what_torch_logs_writes(started_folder: Path, started: dict[str, Any]) -> None:
    text = lzma.decompress(artifact(started_folder, records.LOG)).decode()
    assert "[__guards]" in text
    assert "guards" in started["starts"]["diagnostic"]["logs"]


@pytest.mark.compiles
def test_start_says_what_it_left_and_that_its_process_was_fresh(started: dict[str, Any]) -> None:
    start = started["starts"]["diagnostic"]
    assert (start["status"], start["process"]) == ("pass", "fresh")
    kept = {file["artifact"]: file["cut_bytes"] for file in start["files"].values()}
    assert kept == {records.TRACE: 0, records.LOG: 0}
    assert "no_trace" not in start


@pytest.mark.compiles
def test_no_metric_is_its_own(started: dict[str, Any]) -> None:
    names = [*started["metrics"], *started["absent"]]
    assert not [name for name in names if "diagnostic" in name]
    assert started["metrics"]["cold_start_s"]["value"] > 0


@pytest.mark.compiles
def test_case_that_does_not_compile_leaves_its_trace(tmp_path: Path) -> None:
    model = tmp_path / "breaking.py"
    model.write_text(BREAKING)
    name = "breaking.own.inference.float32.static.b1"
    case = {"benchmark": name, "config": "inductor_fullgraph", "sources": [str(model)]}
    measured = run(tmp_path, "benchmarks_suite", **case, measure={"starts": ["diagnostic"]})
    start = measured["starts"]["diagnostic"]
    assert (measured["status"], start["status"]) == ("fail_to_compile", "fail_to_compile")
    traces = archived_files(artifact(tmp_path, records.TRACE), "trace", MOST_BYTES)
    assert "dynamo_start" in "".join(traces.values())
    assert "graph_break" in lzma.decompress(artifact(tmp_path, records.LOG)).decode()


def test_eager_case_is_not_diagnosed(tmp_path: Path) -> None:
    measure = {"starts": ["diagnostic"]}
    case = run(tmp_path, "benchmarks_suite", benchmark=MLP, config="eager", measure=measure)
    assert "diagnostic" not in case.get("starts", {})


def test_start_of_which_nothing_would_be_kept_does_not_run(tmp_path: Path) -> None:
    measure = {"starts": ["diagnostic"], "keep_code": False}
    case = run(tmp_path, "benchmarks_suite", benchmark=MLP, config="dynamo_only", measure=measure)
    start = case["starts"]["diagnostic"]
    assert start["status"] == "unsupported"
    assert "keep_code" in start["message"]
