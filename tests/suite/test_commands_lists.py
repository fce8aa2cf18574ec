"""Lists for the next session: what lacks processes, what never ran, in which order, for how
long.
"""

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


def result(case: tuple[str, str], release: str, starts: tuple[str, ...] = ()) -> dict[str, Any]:
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


def made(
    folder: Path, *results: dict[str, Any], processes: int = 1, more: tuple[str, ...] = ()
) -> dict[str, Lines]:
    (folder / "results.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in results))
    asked = [
        "lists",
        str(folder / "results.jsonl"),
        "--out",
        str(folder / "lists"),
        "--processes",
        str(processes),
    ]
    assert main([*asked, *more]) == lists.OK
    return {
        path.stem: [json.loads(line) for line in path.read_text().splitlines()]
        for path in (folder / "lists").glob("*.jsonl")
    }


def cases(lines: Lines) -> list[tuple[str, str]]:
    return [(line["benchmark"], line["config"]) for line in lines]


def test_a_case_that_one_release_lacks_is_measured_in_both(tmp_path: Path) -> None:
    both = [result(HISTORY[0], release) for release in ("2.11.0", "2.13.0")]
    lines = made(tmp_path, *both, result(HISTORY[1], "2.11.0"))["releases"]
    assert cases(lines)[1:-1] == list(HISTORY[1:])


def test_the_machines_ceilings_come_first_and_last(tmp_path: Path) -> None:
    lines = made(tmp_path, result(HISTORY[0], "2.11.0"))["releases"]
    assert cases(lines)[0] == cases(lines)[-1] == (CEILINGS, "eager")


def test_every_case_gets_one_process_before_any_gets_two(tmp_path: Path) -> None:
    lines = made(tmp_path, result(HISTORY[0], "2.11.0"), processes=2)["releases"]
    assert cases(lines)[1:-1] == [*HISTORY[1:], *HISTORY]


def test_starts_are_measured_in_the_first_process_that_is_asked_for(tmp_path: Path) -> None:
    known = result(HISTORY[0], "2.11.0", ("cold", "warm", "restored"))
    lines = made(tmp_path, known, processes=2)["releases"]
    starts = [
        line["measure"]["starts"]
        for line in lines
        if (line["benchmark"], line["config"]) in HISTORY[:2]
    ]
    assert starts == [["cold", "warm", "restored"], [], []]


def test_the_main_jobs_list_has_every_benchmark_of_the_yardstick(tmp_path: Path) -> None:
    lines = made(tmp_path, result(HISTORY[0], "2.11.0"))["main"]
    yardstick = (Path(__file__).parents[1] / "perf" / "yardstick.py").read_text()
    in_it = re.findall(r'^    "(\w+)": \(\w+, "([\w.]+)", ', yardstick, re.MULTILINE)
    assert len(in_it) == 5
    assert {f"{name}.standard.inference.{rest}" for name, rest in in_it} <= {
        line["benchmark"] for line in lines
    }


def test_what_spans_several_gpus_has_a_list_of_its_own(tmp_path: Path) -> None:
    lists_made = made(tmp_path, result(HISTORY[0], "2.11.0"))
    assert {name.partition("_")[0] for name, _ in cases(lists_made["distributed"])} == {
        "ddp",
        "fsdp2",
        "simple",
    }
    assert not {name for name, _ in cases(lists_made["missing"])} & {
        name for name, _ in cases(lists_made["distributed"])
    }


def test_what_never_ran_may_be_listed_without_starts(tmp_path: Path) -> None:
    known = result(HISTORY[0], "2.11.0")
    with_starts, without = made(tmp_path, known), made(tmp_path, known, more=("--no-starts",))
    asked = [
        {tuple(line["measure"]["starts"]) for line in found["missing"]}
        for found in (with_starts, without)
    ]
    assert asked == [{("cold",)}, {()}]
    assert without["main"] == with_starts["main"]


def test_every_line_is_a_job_that_batch_takes(tmp_path: Path) -> None:
    for lines in made(tmp_path, result(HISTORY[0], "2.11.0")).values():
        for line in lines:
            parse({"schema": "job.v1", "job_id": "one", "attempt": 1, **line})


def test_the_minutes_are_those_of_the_recorded_jobs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made(tmp_path, *(result(case, "2.11.0") for case in HISTORY), processes=1)
    assert "releases.jsonl       0 jobs in 1 build: about 0 min" in capsys.readouterr().out


def test_what_never_ran_is_taken_to_last_as_long_as_its_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As its family does in its mode, or else as its mode; and a job whose case was compiled ahead
    tells nothing.
    """

    def minutes(*results: dict[str, Any]) -> int:
        made(tmp_path, *results)
        told = re.search(
            r"missing.jsonl +\d+ jobs in 1 build: about (\d+) min", capsys.readouterr().out
        )
        return int(told[1]) if told else -1

    case = "gpt2.standard.inference.bfloat16.static.b16", "inductor"
    quick, ahead = result(case, "2.11.0"), result(case, "2.11.0", ("ahead",))
    slow = result(case, "2.11.0") | {"wall_s": {"compile": 605, "starts": 12}}
    training = result(
        ("resnet50.standard.training.autocast_bf16.static.b128", "inductor"), "2.11.0"
    )
    assert minutes(quick) < minutes(slow)
    assert minutes(slow, training) < minutes(slow)
    assert minutes(slow, ahead) == minutes(slow)
