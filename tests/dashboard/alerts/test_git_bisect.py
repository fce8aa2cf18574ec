"""The script for `git bisect run`, with a real git and a suite whose number is in the commit."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from django.test import Client

from dashboard.alerts.core.git_bisect import BisectTask, script
from dashboard.models import Result, TorchBuild
from tests.builders.alerting import stepped
from tests.builders.confirmations import suspected

COMMAND = "python -m benchmarks_suite run"
SUITE = """\
import json, os, pathlib, sys
level = float(pathlib.Path(os.environ["CLONE"], "level").read_text())
passed = level < 1000
result = {"status": "pass" if passed else "fail_to_compile", "metrics": {}}
if passed:
    result["metrics"]["latency_ms"] = {"value": level}
pathlib.Path(sys.argv[sys.argv.index("--out") + 1]).write_text(json.dumps(result))
"""


def git(clone: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments]
    return subprocess.run(command, cwd=clone, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    package = tmp_path / "compilewatch" / "benchmarks_suite"
    package.mkdir(parents=True)
    (package / "__main__.py").write_text(SUITE)
    return package.parent


def clone_of(tmp_path: Path, levels: list[str]) -> tuple[Path, list[str]]:
    """A repository with a commit for each level."""
    clone = tmp_path / "pytorch"
    clone.mkdir()
    git(clone, "init", "-q")
    commits = []
    for level in levels:
        (clone / "level").write_text(level)
        git(clone, "add", "level")
        git(clone, "commit", "-q", "--allow-empty", "-m", level)
        commits.append(git(clone, "rev-parse", "HEAD").strip())
    return clone, commits


def task(commits: list[str], metric: str = "latency_ms") -> BisectTask:
    return BisectTask(
        alert="alert 1",
        good=commits[0],
        bad=commits[-1],
        command=f"{COMMAND} --benchmark mlp --config inductor",
        metric=metric,
        threshold=105.0,
        is_bad_above=True,
    )


def run_script(
    of: BisectTask, clone: Path, suite: Path, tmp_path: Path, build: str = "true"
) -> tuple[list[str], dict[str, str]]:
    """Build the arguments with which git runs the script, and its environment."""
    path = tmp_path / "bisect.sh"
    path.write_text(script(of))
    environment = os.environ | {"SUITE": str(suite), "CLONE": str(clone), "BUILD": build}
    return ["sh", str(path)], environment


def exit_code(levels: list[str], suite: Path, tmp_path: Path, build: str = "true") -> int:
    clone, commits = clone_of(tmp_path, levels)
    command, environment = run_script(task(commits), clone, suite, tmp_path, build)
    done = subprocess.run(command, cwd=clone, env=environment, capture_output=True, check=False)
    return done.returncode


@pytest.mark.parametrize(
    ("level", "build", "code"),
    [("100", "true", 0), ("110", "true", 1), ("100", "false", 125), ("2000", "true", 125)],
)
def test_script_says_good_bad_or_skip(
    suite: Path, tmp_path: Path, level: str, build: str, code: int
) -> None:
    assert exit_code([level], suite, tmp_path, build) == code


def test_without_a_suite_the_search_ends_instead_of_calling_a_commit_bad(tmp_path: Path) -> None:
    assert exit_code(["100"], tmp_path / "no suite", tmp_path) == 255


def test_result_that_was_cut_off_counts_for_nothing(suite: Path, tmp_path: Path) -> None:
    cut_off = SUITE.replace("json.dumps(result)", "json.dumps(result)[:5]")
    (suite / "benchmarks_suite" / "__main__.py").write_text(cut_off)
    assert exit_code(["110"], suite, tmp_path) == 125


def test_case_that_fails_is_bad_where_the_alert_is_about_that(suite: Path, tmp_path: Path) -> None:
    clone, commits = clone_of(tmp_path, ["2000"])
    of = task(commits, metric="")
    command, environment = run_script(of, clone, suite, tmp_path)
    done = subprocess.run(command, cwd=clone, env=environment, capture_output=True, check=False)
    assert done.returncode == 1


def test_git_finds_the_first_bad_commit_with_it(suite: Path, tmp_path: Path) -> None:
    levels = ["100", "101", "99", "101", "110", "111", "112"]
    clone, commits = clone_of(tmp_path, levels)
    command, environment = run_script(task(commits), clone, suite, tmp_path)
    git(clone, "bisect", "start", commits[-1], commits[0])
    done = subprocess.run(
        ["git", "bisect", "run", *command],
        cwd=clone,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"{commits[4]} is the first bad commit" in done.stdout


# --- On the alert


def test_alert_within_one_build_has_no_script(db: None, reader: Client) -> None:
    alert = stepped()
    assert reader.get(f"/alerts/{alert.group_id}/bisect.sh").status_code == 404
    assert "git bisect" not in reader.get(f"/alerts/{alert.group_id}/").text


def test_alert_between_two_commits_has_its_script(db: None, reader: Client) -> None:
    group = suspected()
    for build, sha in ((group.base, "a" * 40), (group.new, "b" * 40)):
        assert build is not None
        TorchBuild.objects.filter(pk=build.pk).update(git_sha=sha)
    result = Result.objects.get(pk=group.alerts.get().job_id)
    result.document["reproduce"] = f"{COMMAND} --benchmark mlp"
    result.save()
    answer = reader.get(f"/alerts/{group.pk}/bisect.sh")
    assert f"git bisect start {'b' * 40} {'a' * 40}" in answer.text
    threshold = re.search(r"THRESHOLD:-([\d.]+)", answer.text)
    assert threshold
    assert 102 < float(threshold[1]) < 108
    assert "git bisect run" in reader.get(f"/alerts/{group.pk}/reproduce/").text
