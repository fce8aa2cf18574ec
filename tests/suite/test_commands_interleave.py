"""A list in several builds: whose turn it is, where results go, an interpreter that fails."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks_suite.__main__ import main
from benchmarks_suite.commands import interleave

EAGER = {
    "benchmark": "mlp.smoke.inference.float32.static.b64",
    "config": "eager",
    "measure": {"budget_s": 0.1},
}
NO_FUSION = {"inductor": {"epilogue_fusion": False}}


@pytest.fixture
def line(tmp_path: Path) -> Path:
    path = tmp_path / "list.jsonl"
    path.write_text(f"{json.dumps(EAGER)}\n\n{json.dumps(EAGER)}\n")
    return path


def test_each_line_is_measured_in_each_build_before_the_next_line(
    line: Path, tmp_path: Path
) -> None:
    builds = [f"--build={label}={sys.executable}" for label in ("a", "b")]
    assert main(["interleave", str(line), str(tmp_path), *builds]) == interleave.OK
    in_order = sorted(tmp_path.glob("*/*/result.json"), key=lambda path: path.stat().st_mtime_ns)
    assert [path.relative_to(tmp_path).parts[0] for path in in_order] == ["a", "b", "a", "b"]
    assert {json.loads(path.read_text())["status"] for path in in_order} == {"pass"}


def test_no_job_begins_after_the_minutes(line: Path, tmp_path: Path) -> None:
    options = [f"--build=a={sys.executable}", "--minutes=0"]
    code = main(["interleave", str(line), str(tmp_path), *options])
    assert code == interleave.SOMETHING_LEFT
    assert not list(tmp_path.glob("a/*/result.json"))


def test_interpreter_without_the_suite_is_named(
    line: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["interleave", str(line), str(tmp_path), "--build=broken=/bin/false"])
    assert code == interleave.WRONG_INPUT
    assert "broken: its interpreter ended with exit code 1" in capsys.readouterr().err


def test_build_without_an_interpreter_is_refused(
    line: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["interleave", str(line), str(tmp_path), "--build=2.13.0"])
    assert "'2.13.0' is not LABEL=PYTHON" in capsys.readouterr().err


def test_variant_is_measured_with_its_settings_and_the_plain_build_without(
    line: Path, tmp_path: Path
) -> None:
    builds = [f"--build={label}={sys.executable}" for label in ("plain", "slow")]
    variant = f"--variant=slow={json.dumps(NO_FUSION)}"
    assert main(["interleave", str(line), str(tmp_path), *builds, variant]) == interleave.OK
    for label, settings in (("plain", {}), ("slow", NO_FUSION)):
        for job in tmp_path.glob(f"{label}/*/job.json"):
            assert json.loads(job.read_text())["variant"] == settings


@pytest.mark.parametrize("text", ["[1]", "{"])
def test_line_that_is_no_object_is_named(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "list.jsonl"
    path.write_text(text)
    options = [f"--build=a={sys.executable}", f"--variant=a={json.dumps(NO_FUSION)}"]
    assert main(["interleave", str(path), str(tmp_path), *options]) == interleave.WRONG_INPUT
    assert f"a: {text} is not a JSON object" in capsys.readouterr().err


def test_variant_without_a_build_is_refused(
    line: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [f"--build=a={sys.executable}", "--variant=b={}"]
    assert main(["interleave", str(line), str(tmp_path), *options]) == interleave.WRONG_INPUT
    assert "--variant b: no --build has this label" in capsys.readouterr().err
