"""What was run: marks, reasons, what is kept; and docs/coverage.md is what the command prints."""

import gzip
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from benchmarks_suite.__main__ import WRONG_INPUT, main
from benchmarks_suite.commands import coverage
from benchmarks_suite.commands.coverage import CPU, mark_of, newest
from benchmarks_suite.commands.missing import fitting, missing
from benchmarks_suite.configs import CONFIGS, Config
from benchmarks_suite.harness import job, recorded, report
from benchmarks_suite.registry import BENCHMARKS, SUITE

ROOT = Path(__file__).parents[2]
MLP = "mlp.smoke.inference.float32.static.b64"
COMPILED = [config for config in CONFIGS.values() if config.compiles]


def result(config: str = "inductor", **fields: Any) -> dict[str, Any]:
    """A result of the smoke MLP on a CPU; ``fields`` replace what it says."""
    return {
        "schema": "result.v1",
        "job": {"config": config, "device": "cpu"},
        "status": "pass",
        "message": "",
        "finished_at": "2026-11-21T03:00:00+00:00",
        "benchmark": {"name": MLP, "size": "smoke", "version": 1},
        "environment": {"torch": {"version": "2.13.0"}, "machine": {"cpu": "a CPU"}},
        "metrics": {"eager_latency_ms": {"value": 1.25}, "speedup": {"value": 1.5}},
        "samples": {"eager": {"unit": "ms", "values": [1.25]}},
        **fields,
    }


def mark(config: str, *documents: dict[str, Any]) -> str:
    return mark_of(CPU, BENCHMARKS[MLP], CONFIGS[config], newest(documents, CPU))


def test_case_is_marked_by_its_status() -> None:
    assert mark("inductor", result()) == "P"
    assert mark("inductor", result(status="fail_accuracy")) == "A"


def test_pass_without_a_reference_has_its_own_mark() -> None:
    assert mark("inductor", result(accuracy={"status": "no_reference"})) == "N"
    assert mark("inductor", result(accuracy={"status": "not_judged"})) == "N"


def test_pass_in_which_nothing_was_compiled_has_its_own_mark() -> None:
    assert mark("inductor", result(message=report.NOTHING_COMPILED)) == "0"


def test_case_without_a_result_was_not_run() -> None:
    assert mark("regional", result()) == "."


def test_config_that_is_not_for_the_case_has_its_own_mark() -> None:
    assert mark("inductor_optimizer", result()) == "-"  # for training
    assert mark("inductor_float8", result()) == "-"  # for a GPU


def test_eager_was_run_where_it_was_the_control() -> None:
    assert mark("eager", result()) == "P"
    assert mark("eager", result(metrics={})) == "."


def test_of_two_results_of_one_case_the_newer_one_counts() -> None:
    later = result(status="timeout", finished_at="2026-11-22T03:00:00+00:00")
    assert mark("inductor", later, result()) == "T"


def test_result_of_a_variant_does_not_count() -> None:
    job = {
        "config": "inductor",
        "device": "cpu",
        "variant": {"env": {"A": "1"}},
    }
    assert mark("inductor", result(job=job)) == "."


def test_result_of_another_version_of_the_benchmark_does_not_count() -> None:
    assert (
        mark(
            "inductor",
            result(
                benchmark={
                    "name": MLP,
                    "size": "smoke",
                    "version": 99,
                }
            ),
        )
        == "."
    )


def test_failure_is_listed_with_its_reason_on_one_line() -> None:
    page = coverage.page([result(status="fail_to_run", message="no room\nin a | b")], "results")
    assert f"| {MLP} | `inductor` | CPU | fail_to_run | no room in a \\| b |" in page


def test_row_ends_with_eagers_time_and_inductors_speedup() -> None:
    lines = coverage.page([result()], "results").splitlines()
    row = next(line for line in lines if line.startswith(MLP))
    assert row.split()[2:] == ["1.25", "1.500x"]


def test_section_where_nothing_ran_says_so() -> None:
    assert "not run on GPU" in coverage.page([result()], "results")


def test_kept_results_have_no_samples_and_make_the_same_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    original, kept = tmp_path / "result.json", tmp_path / "kept" / "results.jsonl.gz"
    original.write_text(json.dumps(result()))
    assert main(["coverage", str(original), "--keep", str(kept)]) == coverage.OK
    first = capsys.readouterr().out
    assert json.loads(gzip.decompress(kept.read_bytes()))["samples"] == {}
    assert main(["coverage", str(kept.parent)]) == coverage.OK
    assert capsys.readouterr().out == first.replace(str(original), str(kept.parent))


@pytest.mark.parametrize("size", ["smoke", "standard"])
@pytest.mark.parametrize("config", COMPILED, ids=lambda config: config.name)
def test_every_config_has_a_benchmark_that_it_is_for(config: Config, size: str) -> None:
    benchmark = fitting(config, size)
    assert benchmark.mode in (config.modes or [benchmark.mode])
    assert benchmark.shapes in (config.shapes or [benchmark.shapes])


def test_missing_cases_are_a_list_that_batch_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "result.json").write_text(json.dumps(result()))
    assert main(["coverage", str(tmp_path), "--missing", "cpu"]) == coverage.OK
    jobs = []
    for line in capsys.readouterr().out.splitlines():
        document = {
            "schema": "job.v1",
            "job_id": "test",
            "attempt": 1,
            **json.loads(line),
        }
        jobs.append(job.parse(document))
    smoke = {name for name, benchmark in SUITE.items() if benchmark.size == "smoke"}
    assert {each.benchmark.name for each in jobs} == smoke - {MLP}
    compiling = {name for name, config in CONFIGS.items() if config.compiles}
    assert {each.config.name for each in jobs} == {*compiling, "eager"}  # of the machine itself


def test_case_that_was_run_is_not_missing() -> None:
    assert (MLP, "inductor") not in set(missing({(MLP, "inductor")}, "smoke"))


def test_file_that_is_not_json_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cut.jsonl").write_text('{"schema":')
    assert main(["coverage", str(tmp_path)]) == WRONG_INPUT
    assert "cut.jsonl cannot be read as a result" in capsys.readouterr().err


def test_json_of_another_kind_next_to_the_results_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text('{"schema": "job.v1"}')
    assert list(recorded.read(tmp_path)) == []


def test_page_begins_with_totals_and_ends_with_its_command() -> None:
    failed = result(status="fail_to_run", message="no room")
    page = coverage.page([failed], "results")
    counts = re.search(r"\| CPU, smoke size \| (\d+) \| (\d+) \| (\d+) \|", page)
    assert counts
    assert page.index(counts[0]) < page.index("## Configs")
    assert (counts[1], counts[2]) == ("1", "1")  # eager, as its control, and the case itself
    assert page.endswith("python -m benchmarks_suite coverage results\n```")


def test_page_in_docs_is_what_its_command_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "coverage.md").read_text()
    command = re.search(r"^python -m benchmarks_suite (coverage .*)$", page, re.MULTILINE)
    assert command
    monkeypatch.chdir(ROOT)
    assert main(shlex.split(command[1])) == coverage.OK
    assert capsys.readouterr().out == page
