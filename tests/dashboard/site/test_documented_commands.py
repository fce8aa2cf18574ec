"""Every command of the documentation exists with its options, and is run by a test or named here
with the reason.
"""

import re
import shlex
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import call_command, get_commands, load_command_class
from django.test import Client

from benchmarks_suite.commands import COMMANDS
from dashboard.models import Job
from tests.builders import alerting

ROOT = Path(__file__).parents[3]
FILES = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]
IMPORTS = ROOT / "tests" / "data" / "imports"
SHELL = ("", "sh", "bash", "console")  # languages of blocks that hold commands
BEGINS = re.compile(
    r"\S*(?:python|uv) |(?:compilewatch|curl|make|docker|pip|git|printf|sh) "
    r"(?![^=]*—)|[A-Z_]+=\S* |`?manage\.py "
)
RUN_BY = {  # page -> the tests that take its commands from its text and run them
    "agents.md": "tests/client/test_agents.py",
    "api.md": "tests/client/test_docs.py",
    "command-line.md": "tests/client/test_docs.py",
    "gate.md": "tests/client/test_docs.py",
    "own-models.md": "tests/suite/test_own_models.py",
    "tutorial.md": "tests/end_to_end/test_tutorial.py",
    "import.md": "tests/dashboard/site/test_documented_commands.py",
    "export.md": "tests/dashboard/site/test_documented_commands.py",
}
NOT_RUN = {  # pattern -> why no test takes the command from its page
    r"make (up|demo)": "a whole system: tests/end_to_end starts it, in a folder of its own",
    r"make (test|lint|lock)": "this is what runs the tests",
    r"make (drill|chaos)": "half an hour; tests/end_to_end has a shorter one of each",
    r"docker compose|sh docker/": "wants a Docker engine: test_docker.py and test_backup.py run "
    "what is inside",
    r"\S*python -m runner": "a service that does not end: tests/runner starts it",
    r"\S*pip (download|install)|python -m venv": "asks a package index, and installs what it gave",
    r"printf .*uv pip compile": "asks a package index for releases: "
    "tests/dashboard/catalog/test_pins.py reads the table",
    r"\S*python manage.py (add_build|discover_builds)": "asks a package index: test_builds.py "
    "has one of its own",
    r"\S*python manage.py compare_builds": "installs a release, 4 GB: the slow test "
    "compare_first_time does it",
    r"\S*python -m benchmarks_suite": "measures for minutes: tests/suite runs each command on a "
    "small case",
    r"python manage.py import_results (new|releases)": "the files of offline.md's own job: "
    "import.md's commands are run here",
    r"DATABASE_URL=|\S*python manage.py (createsuperuser|add_worker)": "make up with your servers",
}


def commands(file: Path) -> list[str]:
    """The lines of a page's blocks of commands, their continuation lines joined and without
    comments.
    """
    lines = "\n".join(blocks(file)).replace("\\\n", " ").splitlines()
    return [" ".join(line.split("  #")[0].split()) for line in lines]


def blocks(file: Path) -> Iterator[str]:
    for language, text in re.findall(
        r"^```(\w*)\n(.*?)^```$", file.read_text(), re.DOTALL | re.MULTILINE
    ):
        if language in SHELL:
            yield text


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_command_of_a_page_exists_with_its_options(file: Path) -> None:
    suite = [
        line.partition("-m benchmarks_suite ")[2]
        for line in commands(file)
        if "-m benchmarks_suite " in line
    ]
    manage = [
        line.partition("manage.py ")[2]
        for line in commands(file)
        if re.match(r"\S*python\S* manage\.py ", line)
    ]
    for line in suite:
        words = shlex.split(line)
        parser = ArgumentParser(allow_abbrev=False)
        COMMANDS[words[0]].declare(parser)
        check_options(parser, words)
    for line in manage:
        words = shlex.split(line)
        check_options(
            load_command_class(get_commands()[words[0]], words[0]).create_parser(
                "manage.py", words[0]
            ),
            words,
        )


def check_options(parser: ArgumentParser, words: list[str]) -> None:
    options = {option for action in parser._actions for option in action.option_strings}
    used = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert used <= options, f"{' '.join(words)}: no option {used - options}"


def test_make_targets_of_the_pages_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        target
        for file in FILES
        for line in commands(file)
        for target in re.findall(r"^make ([a-z-]+)", line)
    }
    assert named <= targets


def not_run(file: Path) -> list[str]:
    """The commands of a page that no test takes from it."""
    if file.name in RUN_BY:
        return []
    return [line for line in commands(file) if BEGINS.match(line)]


def test_every_command_is_run_by_a_test_or_says_why_not() -> None:
    unknown = [
        f"{file.name}: {line}"
        for file in FILES
        for line in not_run(file)
        if not any(re.match(reason, line) for reason in NOT_RUN)
    ]
    assert unknown == [], "run it in a test, or say in NOT_RUN why not"


def test_no_reason_remains_of_a_removed_command() -> None:
    lines = [line for file in FILES for line in not_run(file)]
    assert [reason for reason in NOT_RUN if not any(re.match(reason, line) for line in lines)] == []
    assert all((ROOT / file).exists() for file in RUN_BY.values())


@pytest.mark.django_db
def test_commands_that_import_do_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "v3.json").write_bytes((IMPORTS / "v3.json").read_bytes())
    csv = "inductor_torchbench_amp_training_cuda_performance.csv"
    (tmp_path / csv).write_bytes((IMPORTS / csv).read_bytes())
    (tmp_path / "benchmark_results.json").write_bytes((IMPORTS / "torchao_first.json").read_bytes())
    for kind in ("cold", "warm"):
        startup = (IMPORTS / f"vllm_startup.{kind}_startup.pytorch.json").read_bytes()
        (tmp_path / f"startup.{kind}_startup.pytorch.json").write_bytes(startup)
    record = (
        '{"benchmark": {"name": "serving"}, "metric": {"name": "latency", '
        '"benchmark_values": [0.25]}}'
    )
    (tmp_path / "records_in_seconds.json").write_text(record)
    monkeypatch.chdir(tmp_path)
    before = []
    for line in filter(None, commands(ROOT / "docs" / "import.md")):
        before.append(Job.objects.count())
        call_command(*shlex.split(line.partition("manage.py ")[2]))
    assert before == [0, 0, 3, 6, 12, 13]
    assert (
        Job.objects.get(benchmark__model="serving").data.get(series__metric="latency_ms").value
        == 250
    )


@pytest.mark.django_db
def test_advice_on_its_page_is_what_the_command_above_it_brings(
    reader: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "advisor.md").read_text()
    monkeypatch.chdir(ROOT)
    [line] = re.findall(r"`\S*python manage\.py (import_results .*?)`", page)
    call_command(*shlex.split(line))
    rows = dict(re.findall(r"^\| `(\S*\.\S*)` \| (.*) \|$", page, re.MULTILINE))
    assert len(rows) == 5
    assert {name: advice_on(name, "cold", reader) for name in rows} == rows
    assert advice_on(next(iter(rows)), "restored", reader).startswith("Below 41 steps")


def advice_on(benchmark: str, start: str, reader: Client) -> str:
    address = f"/api/v1/benchmarks/{benchmark}/advice?start={start}"
    return str(reader.get(address).json()["sentence"])


@pytest.mark.django_db
def test_address_of_the_export_is_answered(reader: Client) -> None:
    alerting.measure({"latency_ms": 2.0}, 0)
    [line] = (line for line in commands(ROOT / "docs" / "export.md") if line.startswith("curl"))
    address = shlex.split(line)[1].removeprefix("http://127.0.0.1:8000")
    content = b"".join(reader.get(address).streaming_content)  # type: ignore[attr-defined]
    assert b"latency_ms,2.0," in content
