"""The command line: instant where it measures nothing, precise where the input is wrong."""

import copy
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks_suite.__main__ import main
from benchmarks_suite.commands import compare, noise, run
from benchmarks_suite.harness import job, table
from tests.builders.measured_jobs import MLP

Capture = pytest.CaptureFixture[str]
GOLDEN = Path(__file__).parents[1] / "data" / "golden"


@pytest.fixture
def passed() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((GOLDEN / "result.pass.json").read_text())
    return document


def written(path: Path, document: dict[str, Any]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return str(path)


def test_list_imports_no_torch() -> None:
    code = "import sys; from benchmarks_suite.__main__ import main; main(['list', '--json'])"
    code += "; assert 'torch' not in sys.modules"
    listed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    catalog = json.loads(listed.stdout)
    assert catalog["benchmarks"][0]["name"] == "mlp.smoke.inference.float32.static.b64"
    positions = [config["position"] for config in catalog["configs"]]
    assert positions == list(range(len(positions)))
    assert catalog["suite_version"]


def test_list_is_readable_too(capsys: Capture) -> None:
    assert main(["list"]) == 0
    assert "regional" in capsys.readouterr().out


def test_a_reader_who_leaves_before_the_end_sees_no_traceback() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    listed = subprocess.run(
        [sys.executable, "-m", "benchmarks_suite", "list"],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert listed.returncode == 1
    assert listed.stderr == ""


def test_a_yes_or_no_option_refuses_other_words(capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--benchmark", MLP, "--config", "eager", "--keep-code", "maybe"])
    assert "invalid choice: 'maybe'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run"], "give either JOB_FILE RESULT_FILE, or --benchmark"),
        (["noise", "--config", "eager"], "give --benchmark NAME and --config NAME"),
        (["run", "--benchmark", "gpt2", "--config", "eager"], "did you mean gpt2."),
        (["run", "job.json"], "give either JOB_FILE RESULT_FILE, or --benchmark"),
        (["run", "none.json", "result.json"], "cannot read the job file none.json: No such file"),
        (
            ["run", "--benchmark", "mlp.smoke", "--config", "eager"],
            "did you mean mlp.smoke.inference",
        ),
        (
            ["run", "--benchmark", "mlp.smoke.inference.float32.static.b1", "--config", "eager"],
            "did you mean mlp.smoke",
        ),
        (["compare", "none.json", "none.json"], "none.json cannot be read as a result"),
    ],
)
def test_wrong_input_is_explained_and_ends_with_2(
    arguments: list[str], says: str, capsys: Capture
) -> None:
    assert main(arguments) == 2
    assert says in capsys.readouterr().err


def test_the_reproduce_command_means_the_same_job(passed: dict[str, Any]) -> None:
    words = passed["reproduce"].partition("benchmarks_suite ")[2].split()
    again = job.parse(run.document(run_options(words)))
    # Which results of before did not have
    since_then = {"accuracy_only": False, "profile_steps": 5, "soak_steps": 0}
    assert again.document["measure"] == {**since_then, **passed["job"]["measure"]}
    assert again.inductor == passed["job"]["variant"]["inductor"]
    assert again.benchmark.name == passed["job"]["benchmark"]


def run_options(words: list[str]) -> Any:
    from argparse import ArgumentParser

    parser = ArgumentParser()
    run.declare(parser)
    return parser.parse_args(words[1:])


def test_compare_shows_what_changed_and_in_which_environment(
    tmp_path: Path, passed: dict[str, Any], capsys: Capture
) -> None:
    after = copy.deepcopy(passed)
    after["metrics"]["cold_start_s"]["value"] *= 2
    after["environment"]["torch"]["version"] = "2.14.0"
    paths = [written(tmp_path / "a.json", passed), written(tmp_path / "b.json", after)]
    assert main(["compare", *paths]) == 0
    text = capsys.readouterr().out
    assert "torch.version: 2.13.0+cpu → 2.14.0" in text
    assert "+100.0%" in text


def test_compare_matches_the_cases_of_two_folders(
    tmp_path: Path, passed: dict[str, Any], capsys: Capture
) -> None:
    eager = json.loads((GOLDEN / "result.eager.json").read_text())
    for folder in ("before", "after"):
        written(tmp_path / folder / "one" / "result.json", passed)
    written(tmp_path / "after" / "two" / "result.json", eager)
    assert main(["compare", str(tmp_path / "before"), str(tmp_path / "after")]) == 0
    assert f"only after: {eager['benchmark']['name']} eager" in capsys.readouterr().out


def test_compare_takes_the_median_of_a_folders_processes(
    tmp_path: Path, passed: dict[str, Any], capsys: Capture
) -> None:
    cold_starts_s = {"before": (2.0, 1.0, 9.0), "after": (20.0, 10.0)}
    for folder, values in cold_starts_s.items():
        for number, value in enumerate(values):
            cold_start = {
                "value": value,
                "low": None,
                "high": None,
                "n": 1,
            }
            passed["metrics"] = {"cold_start_s": cold_start}
            written(tmp_path / folder / str(number) / "result.json", passed)
    assert main(["compare", str(tmp_path / "before"), str(tmp_path / "after")]) == 0
    text = capsys.readouterr().out
    assert "pass ×3 → pass ×2" in text
    assert re.search(r"cold_start_s +2 +15 +\+650.0% the processes are apart", text)


def test_compare_refuses_a_folder_that_mixes_builds(
    tmp_path: Path, passed: dict[str, Any], capsys: Capture
) -> None:
    alone = written(tmp_path / "alone.json", passed)
    changed = copy.deepcopy(passed)
    changed["job"]["variant"] = {"inductor": {"max_fusion_size": 1}}
    passed["job"]["variant"] = {}
    written(tmp_path / "both" / "plain" / "result.json", passed)
    written(tmp_path / "both" / "unfused" / "result.json", changed)
    assert main(["compare", alone, str(tmp_path / "both")]) == 2
    error = capsys.readouterr().err
    builds = 'torch 2.13.0+cpu, torch 2.13.0+cpu with {"inductor": {"max_fusion_size": 1}}'
    assert f"in 2 builds: {builds}" in error
    assert "a folder of its own" in error


@pytest.mark.parametrize(
    ("other", "apart"),
    [
        ((1.3, 1.4), True),
        ((1.15, 1.4), False),
        ((None, 1.4), False),
    ],
)
def test_intervals_are_apart_only_where_both_have_one(
    other: tuple[float | None, float], apart: bool
) -> None:
    before = {"value": 1.1, "low": 1.0, "high": 1.2}
    after = {
        "value": 1.35,
        "low": other[0],
        "high": other[1],
    }
    assert compare.intervals_apart(before, after) is apart


def test_noise_reports_the_spread_between_and_within_processes(passed: dict[str, Any]) -> None:
    results = []
    for speedup in (1.0, 1.1, 1.2):
        entry = {
            "value": speedup,
            "low": speedup * 0.98,
            "high": speedup * 1.02,
            "n": 90,
        }
        results.append(copy.deepcopy(passed) | {"metrics": {"speedup": entry}})
    spreads = noise.spreads(results)
    assert spreads["speedup"]["between_percent"] == pytest.approx(100 * 0.1 / 1.1)
    assert spreads["speedup"]["within_percent"] == pytest.approx(2)
    assert "the same each time" in noise.rendered(passed["job"], spreads, results)


def test_noise_reports_generated_code_that_is_not_stable(passed: dict[str, Any]) -> None:
    other = copy.deepcopy(passed)
    other["compile"]["fingerprints"]["kernels"] = "0" * 16
    assert "2 different ones: unstable" in noise.rendered(passed["job"], {}, [passed, other])


@pytest.mark.parametrize(
    ("status", "exit_code"),
    [
        ("pass", 0),
        ("fail_accuracy", 3),
        ("timeout", 3),
        ("unsupported", 4),
    ],
)
def test_exit_code_of_run_says_whether_the_case_passed(
    passed: dict[str, Any], monkeypatch: pytest.MonkeyPatch, status: str, exit_code: int
) -> None:
    result = type("Measured", (), {"document": lambda _: {**passed, "status": status}})()
    monkeypatch.setattr(run, "measure", lambda *_: result)
    assert main(["run", "--benchmark", MLP, "--config", "eager"]) == exit_code


def test_exit_code_of_a_job_file_says_only_that_there_is_a_result(
    passed: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result = type("Measured", (), {"document": lambda _: {**passed, "status": "fail_accuracy"}})()
    monkeypatch.setattr(run, "measure", lambda *_: result)
    job_file = written(tmp_path / "job.json", passed["job"])
    assert main(["run", job_file, str(tmp_path / "result.json")]) == 0


def test_table_says_where_and_why_the_graph_broke_and_what_compiled(passed: dict[str, Any]) -> None:
    passed["compile"]["graph_breaks"] = [
        {"reason": "Data-dependent\n branching", "location": "moe.py:12 in forward", "count": 1}
    ]
    passed["compile"]["counters"] = {"frames.total": 4.0, "frames.ok": 2.0}
    text = table.rendered(passed)
    assert "graph break: Data-dependent branching (moe.py:12 in forward)" in text
    assert "frames compiled: 2 of 4" in text


def test_time_limit_of_a_case_by_options_is_an_option() -> None:
    options = run_options(["run", "--benchmark", MLP, "--config", "eager", "--timeout-s", "3600"])
    assert job.parse(run.document(options)).timeout_s == 3600


WRITES_A_RESULT = """
import json, resource, signal, sys
from pathlib import Path
from benchmarks_suite.commands import run
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
document = json.loads(Path(sys.argv[1]).read_text())
document["samples"]["eager"]["values"] = [1.5] * 50_000
limit = int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
sys.exit(run._write(document, Path(sys.argv[2])))
"""


@pytest.mark.parametrize(
    ("limit", "exit_code", "left"), [(50_000, 0, ["result.json"]), (100, 1, [])]
)
def test_a_full_disk_is_reported_and_leaves_no_half_result(
    tmp_path: Path, limit: int, exit_code: int, left: list[str]
) -> None:
    """The limit on file sizes stands in for the disk's: the write is refused in the same place."""
    source, target = GOLDEN / "result.pass.json", tmp_path / "out" / "result.json"
    command = [sys.executable, "-c", WRITES_A_RESULT, str(source), str(target), str(limit)]
    writer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert writer.returncode == exit_code, writer.stderr
    assert "could not be written" in writer.stderr
    assert [path.name for path in target.parent.iterdir()] == left
    if left:
        kept = json.loads(target.read_text())
        assert kept["status"] == "fail_to_run"
        assert kept["stage"] == "write"
