"""Two interpreters on this machine, measured in turn: A B, B A, A B …

The suite is run as a command (`python -m benchmarks_suite batch -`), one for each side, and each
case in a process of its own. What drifts with time, a machine that warms up or other load, meets
both sides alike.
"""

import importlib.util
import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from compilewatch_client.connection import Document
from compilewatch_client.errors import ClientError

SideName = Literal["base", "new"]
SUITE = "benchmarks_suite"
ENDING_S = 20.0  # of an interrupted suite, before it is killed


class LocalError(ClientError):
    """It cannot be measured here; the text says why."""


class LocalCase(NamedTuple):
    benchmark: str
    config: str


@dataclass(frozen=True, slots=True)
class LocalSide:
    """name: also that of its folder of results. python: an interpreter that has torch.
    sources: files of own models.
    """

    name: SideName
    python: str
    sources: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LocalSelection:
    """Cases to measure; an empty list selects every model or config that there is.
    size: of the suite's own benchmarks.
    """

    models: list[str]
    benchmarks: list[str]
    configs: list[str]
    size: str


def suite_environment() -> dict[str, str]:
    """This process's variables, with which any interpreter finds the suite next to this package."""
    spec = importlib.util.find_spec(SUITE)
    if spec is None or not spec.submodule_search_locations:
        raise LocalError(
            "To measure on this machine the package benchmarks_suite must lie next to this one."
        )
    path = str(Path(next(iter(spec.submodule_search_locations))).parent)
    if inherited := os.environ.get("PYTHONPATH"):
        path += os.pathsep + inherited
    return {**os.environ, "PYTHONPATH": path}


def select_cases(sides: Sequence[LocalSide], selection: LocalSelection) -> list[LocalCase]:
    """The cases of the selection that the first side's interpreter offers.

    Raises LocalError: there are none, an interpreter has no torch or does not run the suite, or a
    file of own models cannot be used.
    """
    catalogs = [_catalog(each) for each in sides]
    side, benchmarks = sides[0], catalogs[0]["benchmarks"]
    names = {config["name"] for config in catalogs[0]["configs"]}
    for config in selection.configs:
        if config not in names and not config.startswith("backend_"):
            raise LocalError(f"There is no config {config!r}: {', '.join(sorted(names))}.")
    cases = []
    for benchmark in benchmarks:
        if _is_selected(benchmark, selection, side):
            configs = selection.configs or benchmark["default_configs"] or ["eager", "inductor"]
            cases += [LocalCase(benchmark["name"], config) for config in configs]
    if not cases:
        models = ", ".join(sorted({benchmark["model"] for benchmark in benchmarks}))
        raise LocalError(
            f"Nothing to measure: no benchmark fits the options. Models: {models}; sizes: "
            "smoke, standard."
        )
    return cases


def _catalog(side: LocalSide) -> Document:
    """Benchmarks and configs that the side's interpreter lists."""
    _output_of(side, "-c", "import torch")
    arguments = ["-m", SUITE, "list", "--json"]
    for path in side.sources:
        arguments += ["--from", path]
    try:
        printed = json.loads(_output_of(side, *arguments))
        catalog: Document = {key: printed[key] for key in ("benchmarks", "configs", "sources")}
    except (ValueError, TypeError, KeyError):
        raise LocalError(
            f"{side.python} cannot run the suite: it did not print the benchmarks. Is it a Python?"
        ) from None
    for path in side.sources:
        _require_usable(Path(path).absolute(), catalog["sources"])
    return catalog


def _output_of(side: LocalSide, *arguments: str) -> str:
    """Return what the side's interpreter prints. Raises LocalError with its last words."""
    try:
        return subprocess.run(
            [side.python, *arguments],
            env=suite_environment(),
            capture_output=True,
            text=True,
            errors="replace",
            check=True,
        ).stdout
    except OSError as error:
        reason = str(error)
    except subprocess.CalledProcessError as error:
        reason = (error.stderr.strip() or str(error)).splitlines()[-1]
    raise LocalError(
        f"The {side.name} side cannot be measured: {side.python} cannot run the suite: {reason}"
    )


def _require_usable(path: Path, sources: Sequence[Document]) -> None:
    """Raise LocalError where this file, or one in this folder, offers less than was meant."""
    offered = 0
    for source in sources:
        name, problem = source["source"], source["problem"]
        if path not in {Path(name), *Path(name).parents}:
            continue
        if problem:
            lines = re.findall(rf'File "{re.escape(name)}", (line \d+)', problem)
            where = ": ".join([name, *lines[-1:]])
            raise LocalError(f"{where}: {problem.splitlines()[-1]}")
        offered += source["benchmarks"]
    if not offered:
        raise LocalError(f"{path}: no file there defines a function benchmark_NAME")


def _is_selected(benchmark: Document, selection: LocalSelection, side: LocalSide) -> bool:
    """Without a name: the own models where there are files of them, else the default selection of
    the size.
    """
    if selection.benchmarks:
        return benchmark["name"] in selection.benchmarks
    size = benchmark["size"]
    if selection.models:
        return benchmark["model"] in selection.models and size in {selection.size, "own"}
    default_size = "own" if side.sources else selection.size
    return bool(benchmark["default_configs"]) and size == default_size


def interleave(cases: Sequence[LocalCase], repeats: int) -> Iterator[tuple[LocalCase, SideName]]:
    """Every case on both sides, `repeats` times; which goes first alternates."""
    orders: tuple[tuple[SideName, SideName], ...] = (("base", "new"), ("new", "base"))
    for repeat in range(repeats):
        for number, case in enumerate(cases):
            for name in orders[(repeat + number) % 2]:
                yield case, name


def measure(
    sides: Sequence[LocalSide],
    cases: Sequence[LocalCase],
    *,
    repeats: int,
    device: str,
    settings: Document,
    out: Path,
    report: Callable[[int, int, str], None],
) -> dict[SideName, list[Path]]:
    """The result files of each side, in the order in which they were measured.

    settings: of the measurement, as the suite's job has them. report: is called after each job
    with how many of how many are done, and how it ended.
    """
    results: dict[SideName, list[Path]] = {side.name: [] for side in sides}
    with ExitStack() as stack:
        suites = {}
        for side in sides:
            suites[side.name] = stack.enter_context(_SuiteProcess(side, out / side.name))
        processes = list(interleave(cases, repeats))
        for done, (case, name) in enumerate(processes, 1):
            job = {**case._asdict(), "device": device, "measure": settings}
            result, status = suites[name].run(job)
            results[name].append(result)
            report(done, len(processes), f"{name}: {case.benchmark} {case.config}: {status}")
    return results


class _SuiteProcess:
    """The suite in one interpreter, which measures a line of JSON at a time; it ends with the
    `with` block.
    """

    def __init__(self, side: LocalSide, folder: Path) -> None:
        self._side, self._folder = side, folder
        folder.mkdir(parents=True, exist_ok=True)
        self._log = folder / "log.txt"

    def __enter__(self) -> "_SuiteProcess":
        command = [self._side.python, "-m", SUITE, "batch", "-", str(self._folder)]
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                command,
                env=suite_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,  # Ctrl-C reaches us alone
            )
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind:
            # It ends the job that it measures
            self._process.send_signal(signal.SIGINT)
        try:
            with suppress(BrokenPipeError):  # it is gone already
                self._process.communicate(timeout=ENDING_S if kind else None)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def run(self, job: Document) -> tuple[Path, str]:
        """The result file, and the status word. Raises LocalError with what the suite said."""
        assert self._process.stdin is not None  # both are pipes
        assert self._process.stdout is not None
        answer: Document = {"error": "its interpreter ended"}
        with suppress(BrokenPipeError, ValueError):
            self._process.stdin.write(json.dumps({**job, "sources": self._side.sources}) + "\n")
            self._process.stdin.flush()
            answer = json.loads(self._process.stdout.readline())
        if "error" in answer:
            raise LocalError(
                f"The {self._side.name} side cannot be measured: {answer['error']}. See "
                f"{self._log}."
            )
        return self._folder / answer["folder"] / "result.json", str(answer["status"])
