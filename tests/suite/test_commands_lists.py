"""Lists for the next session: what lacks processes, what never ran, in which order, how long."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks_suite.__main__ import main
from benchmarks_suite.commands import lists
from benchmarks_suite.commands.lists import CEILINGS, HISTORY
from benchmarks_suite.harness.job import parse

Lines = list[dict[str, Any]]


def result(
    case: tuple[str, str],
    release: str,
    starts: tuple[str, ...] = (),
) -> dict[str, Any]:
    return {
        "schema": "result.v1",
        "status": "pass",
        "message": "",
        "finished_at": "2026-11-21T03:00:00+00:00",
        "job": {"config": case[1], "device": "cuda:0"},
        "benchmark": {"name": case[0], "size": "standard", "version": 1},
        "environment": {"torch": {"version": release}},
        "metrics": {},
        "samples": {},
        "wall_s": {"compile": 5, "starts": 12},
        "starts": {kind: {} for kind in starts},
    }


def lists_for(
    folder: Path, *results: dict[str, Any], processes: int = 1, more: tuple[str, ...] = ()
) -> dict[str, Lines]:
    """What the command writes after these results."""
    file, out = folder / "results.jsonl", folder / "lists"
    file.write_text("".join(f"{json.dumps(result)}\n" for result in results))
    arguments = ["lists", str(file), "--out", str(out), f"--processes={processes}", *more]
    assert main(arguments) == lists.OK
    written = {}
    for path in out.glob("*.jsonl"):
        written[path.stem] = [json.loads(line) for line in path.read_text().splitlines()]
    return written


def cases(lines: Lines) -> list[tuple[str, str]]:
    return [(line["benchmark"], line["config"]) for line in lines]


def test_list_of_the_field_has_its_names_in_two_configs(tmp_path: Path) -> None:
    field = cases(lists_for(tmp_path, result(HISTORY[0], "2.11.0"))["field"])
    names = {name.partition(".")[0] for name, _ in field}
    assert len(names) == 70
    assert {config for _, config in field} == {"inductor", "inductor_reduce_overhead"}
    assert len(field) == 140


def test_case_that_one_release_lacks_is_measured_in_both(tmp_path: Path) -> None:
    both = [result(HISTORY[0], release) for release in ("2.11.0", "2.13.0")]
    lines = lists_for(tmp_path, *both, result(HISTORY[1], "2.11.0"))["releases"]
    assert cases(lines)[1:-1] == list(HISTORY[1:])


def test_ceilings_of_the_machine_come_first_and_last(tmp_path: Path) -> None:
    lines = lists_for(tmp_path, result(HISTORY[0], "2.11.0"))["releases"]
    assert cases(lines)[0] == cases(lines)[-1] == (CEILINGS, "eager")


def test_every_case_gets_one_process_before_any_gets_two(tmp_path: Path) -> None:
    lines = lists_for(tmp_path, result(HISTORY[0], "2.11.0"), processes=2)["releases"]
    assert cases(lines)[1:-1] == [*HISTORY[1:], *HISTORY]


def test_starts_are_measured_in_the_first_process_alone(tmp_path: Path) -> None:
    with_starts = result(HISTORY[0], "2.11.0", ("cold", "warm", "restored"))
    _, *lines, _ = lists_for(tmp_path, with_starts, processes=2)["releases"]
    starts: dict[tuple[str, str], Any] = {case: [] for case in HISTORY[:2]}
    for line in lines:
        case = line["benchmark"], line["config"]
        if case in starts:
            starts[case].append(line["measure"]["starts"])
    assert starts[HISTORY[0]] == [[]]
    assert starts[HISTORY[1]] == [["cold", "warm", "restored"], []]


def test_main_list_has_every_benchmark_of_the_yardstick(tmp_path: Path) -> None:
    lines = lists_for(tmp_path, result(HISTORY[0], "2.11.0"))["main"]
    yardstick = (Path(__file__).parents[1] / "perf" / "yardstick.py").read_text()
    in_it = re.findall(r'^    "(\w+)": \(\w+, "([\w.]+)", ', yardstick, re.MULTILINE)
    assert len(in_it) == 5
    names = {f"{name}.standard.inference.{rest}" for name, rest in in_it}
    assert names <= {line["benchmark"] for line in lines}


def test_distributed_cases_have_a_list_of_their_own(tmp_path: Path) -> None:
    lists = lists_for(tmp_path, result(HISTORY[0], "2.11.0"))
    distributed = {name for name, _ in cases(lists["distributed"])}
    assert {name.partition("_")[0] for name in distributed} == {"ddp", "fsdp2", "simple"}
    assert not distributed & {name for name, _ in cases(lists["missing"])}


def test_missing_cases_may_be_listed_without_starts(tmp_path: Path) -> None:
    measured = result(HISTORY[0], "2.11.0")
    with_starts = lists_for(tmp_path, measured)
    assert all(line["measure"]["starts"] == ["cold"] for line in with_starts["missing"])
    without = lists_for(tmp_path, measured, more=("--no-starts",))
    assert all(line["measure"]["starts"] == [] for line in without["missing"])
    assert without["main"] == with_starts["main"]


def test_every_line_is_a_job_that_batch_takes(tmp_path: Path) -> None:
    for lines in lists_for(tmp_path, result(HISTORY[0], "2.11.0")).values():
        for line in lines:
            job = parse({"schema": "job.v1", "job_id": "one", "attempt": 1, **line})
            assert (job.benchmark.name, job.config.name) == (line["benchmark"], line["config"])


def test_minutes_are_those_of_the_recorded_jobs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lists_for(tmp_path, *(result(case, "2.11.0") for case in HISTORY), processes=1)
    assert "releases.jsonl       0 jobs in 1 build: about 0 min" in capsys.readouterr().out


def test_missing_case_is_taken_to_last_as_long_as_its_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As its family in its mode, else as its mode; a job that was compiled ahead says nothing."""

    def minutes(*results: dict[str, Any]) -> int:
        lists_for(tmp_path, *results)
        pattern = r"missing.jsonl +\d+ jobs in 1 build: about (\d+) min"
        match = re.search(pattern, capsys.readouterr().out)
        assert match
        return int(match[1])

    case = "gpt2.standard.inference.bfloat16.static.b16", "inductor"
    quick, ahead = result(case, "2.11.0"), result(case, "2.11.0", ("ahead",))
    slow = result(case, "2.11.0") | {"wall_s": {"compile": 605, "starts": 12}}
    resnet50 = "resnet50.standard.training.autocast_bf16.static.b128"
    training = result((resnet50, "inductor"), "2.11.0")
    assert minutes(quick) < minutes(slow)
    assert minutes(slow, training) < minutes(slow)
    assert minutes(slow, ahead) == minutes(slow)
