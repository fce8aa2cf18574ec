"""Own models: files, folders and packages add benchmarks; docs/own-models.md works as written."""

import json
import os
import re
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks_suite import own
from benchmarks_suite.__main__ import main
from benchmarks_suite.benchmark import import_module_or_file
from benchmarks_suite.commands import listing
from benchmarks_suite.harness import job
from benchmarks_suite.harness.measure import measure
from benchmarks_suite.loading import load
from benchmarks_suite.workload import Inputs, Workload

Capture = pytest.CaptureFixture[str]
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "own-models.md").read_text()
EXAMPLE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
NAME = "forecaster.own.inference.float32.static.b32"
LINEAR = (
    "import torch\ndef benchmark_linear():\n    return torch.nn.Linear(4, 4), torch.randn(1, 4)\n"
)


def written(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def source_of(tmp_path: Path, text: str) -> own.Source:
    return next(own.of_paths([written(tmp_path / "my_model.py", text)]))


def job_of(path: str, name: str, config: str = "eager", **more: Any) -> job.Job:
    document = {
        "schema": "job.v1",
        "job_id": "j",
        "attempt": 1,
        "benchmark": name,
        "config": config,
        "sources": [path],
        "measure": {"budget_s": 0.2, "single_steps": 0},
    }
    return job.parse({**document, **more})


def batch_of(workload: Workload, number: int = 0) -> Inputs:
    return workload.inputs(number, torch.Generator())


@pytest.mark.compiles
def test_commands_of_the_tutorial_run(tmp_path: Path) -> None:
    written(tmp_path / "my_model.py", EXAMPLE)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    outputs = []
    for command in re.findall(r"^python (-m benchmarks_suite .*)$", PAGE, re.MULTILINE):
        arguments = [sys.executable, *command.split()]
        if " run " in command:
            arguments += ["--budget-s", "0.5"]
        outputs.append(
            subprocess.check_output(
                arguments,
                text=True,
                cwd=tmp_path,
                env=environment,
            )
        )
    assert "2 own benchmarks" in outputs[0]
    assert f"{NAME}  inductor: pass" in outputs[1]


def test_training_gives_the_loss_that_the_function_returned(tmp_path: Path) -> None:
    benchmarks = source_of(tmp_path, EXAMPLE).benchmarks
    workload = load(next(each for each in benchmarks if each.mode == "training"))
    batch = batch_of(workload)
    assert workload.loss is not None
    assert workload.loss(workload.call(workload.module, batch), batch).dim() == 0


def test_inputs_are_drawn_alike_in_every_release(tmp_path: Path) -> None:
    benchmark = source_of(tmp_path, EXAMPLE).benchmarks[0]
    drawn = batch_of(load(benchmark))["0"]
    torch.manual_seed(1)
    assert torch.equal(batch_of(load(benchmark))["0"], drawn)
    assert round(float(drawn.std()), 1) == 1.0


def test_step_counts_the_items_of_each_sample(tmp_path: Path) -> None:
    text = f"ITEM = 'tokens'\nITEMS = 64\n{LINEAR.replace('linear()', 'linear(batch_size=2)')}"
    workload = load(source_of(tmp_path, text).benchmarks[0])
    assert (workload.item, workload.items(batch_of(workload))) == ("tokens", 128)


def test_file_is_not_run_to_find_out_what_it_offers(tmp_path: Path) -> None:
    source = source_of(tmp_path, "raise SystemExit\ndef benchmark_one(batch_size=(1, 2)): ...")
    first, second = source.benchmarks
    assert first.name == "one.own.inference.float32.static.b1"
    assert second.name == "one.own.inference.float32.static.b2"


def test_constants_of_a_file_hold_for_all_of_its_functions(tmp_path: Path) -> None:
    constants = "FAMILY = 'llm'\nITEM = 'tokens'\nCONFIGS = 'regional'\nVERSION = 3\n"
    benchmark = source_of(tmp_path, f"{constants}def benchmark_one(): ...").benchmarks[0]
    assert benchmark.family == "llm"
    assert benchmark.item == "tokens"
    assert benchmark.default_configs == ("regional",)
    assert benchmark.version == 3


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("def broken(", "line 1: '(' was never closed"),
        ("", "defines no function benchmark_NAME"),
        (
            "def benchmark_one(width): ...",
            "line 1: benchmark_one: its parameter width needs a default",
        ),
        ("def benchmark_One(): ...", "write its name in lower-case letters"),
        ("ITEMS = 0\ndef benchmark_one(): ...", "line 1: ITEMS must be a whole number from 1"),
        ("def benchmark_gpt2(): ...", "the suite has a model gpt2 itself"),
        ("def benchmark_one(mode='train'): ...", "mode must be one of inference, training"),
        ("def benchmark_one(batch_size=0): ...", "batch_size must be a whole number from 1"),
        ("def benchmark_one(batch_size=()): ...", "batch_size offers nothing"),
        ("def benchmark_one(batch_size=8 * N): ...", "batch_size must be written out"),
        ("VERSION = 'two'", "line 1: VERSION must be a whole number from 1, not 'two'"),
        ("FAMILY = 'My Models'", "FAMILY must be written in lower-case letters"),
        ("\0", "null bytes"),
    ],
)
def test_malformed_file_is_reported_with_its_line(
    tmp_path: Path,
    text: str,
    problem: str,
) -> None:
    assert problem in "\n".join(source_of(tmp_path, text).problems)


def test_malformed_function_leaves_the_others_of_its_file(tmp_path: Path) -> None:
    source = source_of(tmp_path, "def benchmark_one(width): ...\ndef benchmark_two(): ...")
    assert [each.model for each in source.benchmarks] == ["two"]


def test_folder_offers_its_files_without_helpers_and_hidden_ones(tmp_path: Path) -> None:
    written(tmp_path / "deep" / "a.py", LINEAR)
    written(tmp_path / "helper.py", "WIDTH = 4")
    written(tmp_path / ".git" / "hook.py", LINEAR)
    (source,) = own.of_paths([str(tmp_path)])
    assert source.module == str(tmp_path / "deep" / "a.py")


def test_file_can_import_what_lies_next_to_it(tmp_path: Path) -> None:
    written(tmp_path / "next_to_my_model.py", "WIDTH = 5")
    path = written(tmp_path / "my_model.py", f"from next_to_my_model import WIDTH\n{LINEAR}")
    assert import_module_or_file(path).WIDTH == 5


def test_of_two_with_one_name_the_first_counts_and_the_other_is_reported(tmp_path: Path) -> None:
    paths = [written(tmp_path / name, LINEAR) for name in ("a.py", "b.py")]
    first, second = own.every(paths)
    assert len(first.benchmarks) == 1
    assert second.benchmarks == []
    assert f"is left out: {paths[0]} has one of that name" in second.problems[0]


def test_list_shows_the_traceback_of_a_file_that_cannot_be_imported(
    tmp_path: Path, capsys: Capture
) -> None:
    broken = written(tmp_path / "broken.py", "import no_such_thing\ndef benchmark_broken(): ...")
    fine = written(tmp_path / "fine.py", LINEAR)
    assert main(["list", "--json", "--from", broken, "--from", fine]) == 0
    catalog = json.loads(capsys.readouterr().out)
    problems = {each["source"]: each["problem"] for each in catalog["sources"]}
    assert "ModuleNotFoundError: No module named 'no_such_thing'" in problems[broken]
    assert problems[fine] == ""
    assert catalog["benchmarks"][-1]["source"] == fine


def test_import_that_ends_the_process_is_reported(tmp_path: Path) -> None:
    path = written(tmp_path / "ends.py", "import os\nos._exit(3)")
    problem = own.problem_of_import(path)
    assert problem == "its import ended the process with exit code 3, and no word"


def test_job_of_a_file_that_cannot_be_imported_fails_with_the_traceback(tmp_path: Path) -> None:
    path = written(tmp_path / "broken.py", "raise KeyError('weights')\ndef benchmark_broken(): ...")
    result = measure(job_of(path, "broken.own.inference.float32.static.b1"), None).document()
    assert result["status"] == "fail_to_run"
    assert "KeyError: 'weights'" in result["error"]["traceback"]


def test_unknown_name_is_reported_with_what_is_wrong_in_the_files(tmp_path: Path) -> None:
    path = written(tmp_path / "my_model.py", "def benchmark_one(width): ...")
    with pytest.raises(job.JobError, match="its parameter width needs a default"):
        job_of(path, "one.own.inference.float32.static.b1")


def test_edited_file_has_another_hash_in_the_list_and_in_results(tmp_path: Path) -> None:
    before = source_of(tmp_path, LINEAR).benchmarks[0].described()["source_hash"]
    same = source_of(tmp_path, LINEAR).benchmarks[0].described()["source_hash"]
    after = source_of(tmp_path, f"{LINEAR}# edited\n").benchmarks[0].described()["source_hash"]
    assert before == same
    assert before != after


def test_revision_of_the_repository_is_the_version(tmp_path: Path) -> None:
    repository = {
        "url": "https://example.org/models.git",
        "commit": "a" * 40,
        "revision": 7,
    }
    path = written(tmp_path / "a.py", LINEAR)
    of_revision = job_of(path, "linear.own.inference.float32.static.b1", repository=repository)
    assert of_revision.benchmark.version == 7


def test_job_is_the_same_for_the_processes_that_it_starts(tmp_path: Path) -> None:
    original = job_of(written(tmp_path / "a.py", LINEAR), "linear.own.inference.float32.static.b1")
    assert job.parse(original.document) == original


def test_installed_package_adds_benchmarks_without_being_imported_to_find_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "my_package" / "__init__.py", "")
    written(tmp_path / "my_package" / "benchmarks.py", LINEAR)
    information = tmp_path / "my_package-1.dist-info"
    written(information / "METADATA", "Metadata-Version: 2.1\nName: my-package\nVersion: 1\n")
    written(
        information / "entry_points.txt",
        "[compilewatch.benchmarks]\n"
        "mine = my_package.benchmarks\n"
        "gone = no_such_package.benchmarks\n",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    sources = {source.module: source for source in own.installed()}
    assert "a module that is not there" in sources["no_such_package.benchmarks"].problems[0]
    assert "my_package" not in sys.modules
    assert load(sources["my_package.benchmarks"].benchmarks[0]).items({}) == 1


@pytest.mark.parametrize("returned", ["None", "(1, 2)", "(torch.nn.Linear(4, 4),)"])
def test_function_that_returns_something_else_is_refused(tmp_path: Path, returned: str) -> None:
    source = source_of(tmp_path, f"import torch\ndef benchmark_odd(): return {returned}")
    with pytest.raises(TypeError, match="return a module and its inputs"):
        load(source.benchmarks[0])


@pytest.mark.parametrize(
    ("inputs", "function"),
    [
        ("(x, x)", "lambda a, b: a + b"),
        ("{'a': x}", "lambda a: (a > 0, [a])"),
        ("x", "lambda a: a"),
    ],
)
def test_inputs_come_alone_in_a_tuple_or_by_name(
    tmp_path: Path, inputs: str, function: str
) -> None:
    text = f"""
import torch
class Module(torch.nn.Module):
    def forward(self, *given, **named): return ({function})(*given, **named)
def benchmark_given():
    x = torch.randn(2, 3)
    return Module(), {inputs}
"""
    workload = load(source_of(tmp_path, text).benchmarks[0])
    batch = batch_of(workload)
    assert workload.output(workload.call(workload.module, batch)).shape == (2, 3)


def test_batches_of_varying_shapes_come_from_a_function_of_their_number(tmp_path: Path) -> None:
    text = LINEAR.replace("():", "(shapes='dynamic'):")
    text = text.replace("torch.randn(1, 4)", "lambda n: torch.randn(1 + n, 4)")
    workload = load(source_of(tmp_path, text).benchmarks[0])
    assert len(batch_of(workload, 0)["0"]) == 1
    assert len(batch_of(workload, 3)["0"]) == 4


def test_list_goes_to_the_file_of_its_option(tmp_path: Path) -> None:
    out = tmp_path / "catalog.json"
    assert listing.run(Namespace(json=True, out=out, sources=[])) == 0
    assert json.loads(out.read_text())["sources"] == []
