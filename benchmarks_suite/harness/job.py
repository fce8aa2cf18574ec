"""The job file: one case, to be measured once. Contract: schema/job.v1.json."""

import difflib
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks_suite import configs, own, registry
from benchmarks_suite.benchmark import Benchmark
from benchmarks_suite.harness import contract
from benchmarks_suite.harness.contract import Document

WHERE_NAMES_ARE = "`python -m benchmarks_suite list` shows the names"


class JobError(contract.WrongInput):
    """The job file cannot be used; the text says which field and what is allowed there."""


@dataclass(frozen=True)
class Measure:
    """Settings of the measurement. Units and limits: schema/job.v1.json, ``measure``."""

    budget_s: float
    target_percent: float
    starts: tuple[str, ...]
    single_steps: int
    profile_steps: int
    soak_steps: int
    loss_steps: int
    threads: int
    compile_threads: int
    seed: int
    keep_code: bool
    accuracy_only: bool


@dataclass(frozen=True)
class Job:
    """A checked job.

    document: the job file with its defaults filled in, as the result repeats it.
    device: ``cpu`` or ``cuda:N``.
    env, inductor: the variant: environment variables, attributes of torch._inductor.config.
    """

    document: Document
    benchmark: Benchmark
    config: configs.Config
    device: str
    env: dict[str, str]
    inductor: Document
    measure: Measure
    timeout_s: float

    @property
    def on_gpu(self) -> bool:
        return self.device.startswith("cuda")


def read(path: Path) -> Job:
    """Reads and checks a job file. Raises JobError, also where the file cannot be read."""
    try:
        return parse(contract.read_json(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise JobError(f"cannot read the job file {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise JobError(f"{path} is not UTF-8 text: {error}") from error
    except JobError:
        raise
    except ValueError as error:
        raise JobError(f"{path} is not JSON: {error}") from error


def parse(document: Any) -> Job:
    """Checks a job document against the contract and the registry.

    Raises JobError naming the field.
    """
    name = document.get("benchmark") if isinstance(document, dict) else None
    pattern = contract.schema("job.v1")["properties"]["benchmark"]["pattern"]
    if isinstance(name, str) and not re.fullmatch(pattern, name):
        # It is not a benchmark; which ones are near says more than the pattern
        _check_name("benchmark", name, registry.BENCHMARKS)
    try:
        contract.check(document, "job.v1")
    except contract.ContractError as error:
        raise JobError(str(error)) from error
    filled = contract.with_defaults(document, contract.schema("job.v1"))
    # The job is worked on in other folders
    filled["sources"] = [str(Path(path).absolute()) for path in filled["sources"]]
    benchmark = _benchmark(filled)
    _check_name("config", filled["config"], configs.CONFIGS)
    measure, variant = filled["measure"], filled["variant"]
    return Job(
        document=filled,
        benchmark=benchmark,
        config=configs.CONFIGS[filled["config"]],
        device="cuda:0" if filled["device"] == "cuda" else filled["device"],
        env=variant.get("env", {}),
        inductor=variant.get("inductor", {}),
        measure=Measure(**{**_integers(measure), "starts": tuple(measure["starts"])}),
        timeout_s=filled["timeout_s"],
    )


def _benchmark(document: Document) -> Benchmark:
    """The line of the registry, or the own model. Raises JobError naming what is near it."""
    name, paths = document["benchmark"], document["sources"]
    if name in registry.BENCHMARKS:
        return registry.BENCHMARKS[name]
    own_benchmark = own.find(name, paths, document.get("repository", {}).get("revision"))
    if own_benchmark is not None:
        return own_benchmark
    offered = list(registry.BENCHMARKS)
    problems = ""
    for source in own.every(paths):
        offered += [benchmark.name for benchmark in source.benchmarks]
        for text in source.problems:
            problems += f"; {source.module}: {text}"
    try:
        _check_name("benchmark", name, offered)
    except JobError as error:
        raise JobError(f"{error}{problems}") from None
    raise AssertionError(f"{name} is offered, and was not found")


def _integers(measure: Document) -> Document:
    """JSON has one kind of number: 5.0 is an integer there, and must be one here."""
    converted = dict(measure)
    for key, rule in measure_fields().items():
        if rule.get("type") == "integer" and key in measure:
            converted[key] = int(measure[key])
    return converted


def measure_fields() -> dict[str, Document]:
    """Return the schema's entry for each field of ``measure``."""
    fields: dict[str, Document] = contract.schema("job.v1")["properties"]["measure"]["properties"]
    return fields


def _check_name(field: str, name: str, names: Collection[str]) -> None:
    """Raises JobError, with the nearest names, where ``name`` is not among ``names``."""
    if name in names:  # CONFIGS has more than it lists: any backend_…
        return
    near = difflib.get_close_matches(name, list(names), n=3)
    if not near:
        near = [candidate for candidate in names if name in candidate][:3]
    hint = f"did you mean {' or '.join(near)}?" if near else WHERE_NAMES_ARE
    raise JobError(f"{field}: this suite has no {field} {name!r}; {hint}")
