"""Two interpreters on this machine, measured in turn: A B, B A, A B … each case in a process of its
own.

The suite is run as a command (`python -m benchmarks_suite batch -`), one for each side. What drifts
with time, a machine that warms up or other load, meets both sides alike.
"""

import importlib.util
import json
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from compilewatch_client.errors import ClientError

Name = Literal["base", "new"]
SUITE = "benchmarks_suite"


class LocalError(ClientError):
    """It cannot be measured here; the text says why."""


@dataclass(frozen=True, slots=True)
class Side:
    """name: of the folder of results. python: an interpreter that has torch. sources: files of own
    models.
    """

    name: Name
    python: str
    sources: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to measure; empty: every model or config that there is. size: of the suite's own
    benchmarks.
    """

    models: list[str]
    benchmarks: list[str]
    configs: list[str]
    size: str


def environment() -> dict[str, str]:
    """This process's variables, with which any interpreter finds the suite that lies beside this
    package.
    """
    found = importlib.util.find_spec(SUITE)
    if found is None or not found.submodule_search_locations:
        raise LocalError(
            "To measure on this machine the package benchmarks_suite must lie beside this one."
        )
    place = str(Path(next(iter(found.submodule_search_locations))).parent)
    path = os.pathsep.join(filter(None, (place, os.environ.get("PYTHONPATH", ""))))
    return {**os.environ, "PYTHONPATH": path}


def cases(side: Side, wanted: Wanted) -> list[tuple[str, str]]:
    """(benchmark, config) of what is wanted, as the side's interpreter offers it. Raises
    LocalError: nothing fits.
    """
    sources = [word for path in side.sources for word in ("--from", path)]
    command = [side.python, "-m", SUITE, "list", "--json", *sources]
    try:
        listed = subprocess.run(
            command, env=environment(), capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        told = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        raise LocalError(
            f"{side.python} cannot run the suite: {told[-1] if told else error}"
        ) from None
    known = json.loads(listed)["benchmarks"]
    found = [
        (one["name"], config)
        for one in known
        if _fits(one, wanted, side)
        for config in _configs(one, wanted)
    ]
    if not found:
        models = ", ".join(sorted({one["model"] for one in known}))
        raise LocalError(
            f"Nothing to measure: no benchmark fits the options. Models: {models}; sizes: "
            "smoke, standard."
        )
    return found


def _fits(one: dict[str, Any], wanted: Wanted, side: Side) -> bool:
    """Without a name: the own models where there are files of them, else the default selection of
    the size.
    """
    if wanted.benchmarks:
        return one["name"] in wanted.benchmarks
    if wanted.models:
        return one["model"] in wanted.models and one["size"] in {wanted.size, "own"}
    return bool(one["default_configs"]) and one["size"] == ("own" if side.sources else wanted.size)


def _configs(one: dict[str, Any], wanted: Wanted) -> list[str]:
    return wanted.configs or one["default_configs"] or ["eager", "inductor"]


def in_turn(
    cases: Sequence[tuple[str, str]], repeats: int
) -> Iterator[tuple[tuple[str, str], Name]]:
    """Every case on both sides, `repeats` times; which goes first alternates."""
    orders: tuple[tuple[Name, Name], tuple[Name, Name]] = (("base", "new"), ("new", "base"))
    for repeat in range(repeats):
        for number, case in enumerate(cases):
            for name in orders[(repeat + number) % 2]:
                yield case, name


def measure(
    sides: Sequence[Side],
    cases: Sequence[tuple[str, str]],
    *,
    repeats: int,
    device: str,
    measuring: dict[str, Any],
    out: Path,
    told: Callable[[str], None],
) -> dict[Name, list[Path]]:
    """Measure; the result files of each side, in the order taken. told: called after each job with
    how it ended.
    """
    found: dict[Name, list[Path]] = {side.name: [] for side in sides}
    with ExitStack() as ended:
        batches = {side.name: ended.enter_context(_Batch(side, out / side.name)) for side in sides}
        for (benchmark, config), name in in_turn(cases, repeats):
            job = {"benchmark": benchmark, "config": config, "device": device, "measure": measuring}
            result, status = batches[name].run(job)
            found[name].append(result)
            told(f"{name}: {benchmark} {config}: {status}")
    return found


class _Batch:
    """The suite in one interpreter, which measures a line of JSON at a time; it ends with the
    `with` block.
    """

    def __init__(self, side: Side, folder: Path) -> None:
        self._side, self._folder = side, folder
        folder.mkdir(parents=True, exist_ok=True)
        self._words = folder / "log.txt"

    def __enter__(self) -> "_Batch":
        command = [self._side.python, "-m", SUITE, "batch", "-", str(self._folder)]
        with self._words.open("w") as log:
            self._process = subprocess.Popen(
                command,
                env=environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(BrokenPipeError):  # it is gone already
            self._process.communicate()  # it ends when its list does

    def run(self, job: dict[str, Any]) -> tuple[Path, str]:
        """The result file, and the status word. Raises LocalError with what the suite said."""
        assert self._process.stdin is not None  # both are pipes
        assert self._process.stdout is not None
        answer: dict[str, Any] = {"error": "its interpreter ended"}
        with suppress(BrokenPipeError, ValueError):
            self._process.stdin.write(json.dumps({**job, "sources": self._side.sources}) + "\n")
            self._process.stdin.flush()
            answer = json.loads(self._process.stdout.readline())
        if "error" in answer:
            raise LocalError(
                f"The {self._side.name} side cannot be measured: {answer['error']}. See "
                f"{self._words}."
            )
        return self._folder / answer["folder"] / "result.json", str(answer["status"])
