"""Plans of runs: a selection × the catalog -> cases in a good order -> job files. Pure.

The catalog's own order is kept: the registry begins with what is cheap and informative, and within
a benchmark eager comes first, so that the first points of a run are there soon.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from functools import cache
from typing import Any

import jsonschema_rs

from dashboard.language.contracts import Document, Refused, check_schema, read_schema

# Where neither the person nor the registry names any
CONFIGS_OF_A_CHOSEN_BENCHMARK = ("eager", "inductor")
CHECKED_CONFIG = "inductor"  # where accuracy alone is measured
TIMEOUT_S = 900.0  # a job is killed after this long
FIELD_FAMILIES = "field-"  # what their names begin with: measured where they are named
OWN_SIZE = "own"  # of own models: measured on every machine, whatever its default size
NOTHING_KNOWN = "Nothing is known yet: start a worker, which reports what it can measure."
SHOWN_NAMES = 8  # of those that there are, in an error
NEAR_NAMES = 3  # of those that may be meant
START_S = 60.0  # rough: imports, building and one cold start of a small model
SAMPLING_S = 20.0  # the job contract's default budget_s


class PlanError(ValueError):
    """Request that cannot be planned; the text says why, and what there is instead."""


@dataclass(frozen=True, slots=True)
class BenchmarkFacts:
    """Facts about a benchmark that planning needs."""

    name: str
    family: str
    size: str
    default_configs: tuple[str, ...]
    mode: str = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """Names that somebody asked for. All empty: the default selection of the machine's size."""

    families: tuple[str, ...] = ()
    benchmarks: tuple[str, ...] = ()
    configs: tuple[str, ...] = ()

    def names(self) -> dict[str, list[str]]:
        """As runs and comparisons keep it."""
        return {
            "families": [*self.families],
            "benchmarks": [*self.benchmarks],
            "configs": [*self.configs],
        }


@dataclass(frozen=True, slots=True)
class Case:
    """A benchmark under a config, by their names. accuracy_only: nothing else is measured."""

    benchmark: str
    config: str
    accuracy_only: bool = False


@dataclass(frozen=True, slots=True)
class Budget:
    """Time that a run takes."""

    jobs: int
    expected_s: float  # roughly


def plan_cases(
    selection: Selection, benchmarks: Sequence[BenchmarkFacts], configs: Sequence[str], size: str
) -> list[Case]:
    """The cases of `selection`, in the order of `benchmarks` and then of `configs`.

    size: the machine's default size. Families and the default selection take benchmarks of this
        size and own models only; benchmarks that are named are taken as they are.
    Raises PlanError: an unknown name, or nothing to measure.
    """
    require_known("config", selection.configs, configs)
    cases: list[Case] = []
    for benchmark in choose_benchmarks(selection, benchmarks, size):
        chosen = selection.configs or benchmark.default_configs or CONFIGS_OF_A_CHOSEN_BENCHMARK
        cases += [Case(benchmark.name, config) for config in configs if config in chosen]
    if not cases:
        raise PlanError(nothing_to_measure(benchmarks, size))
    return cases


def accuracy_cases(
    selection: Selection, benchmarks: Sequence[BenchmarkFacts], size: str
) -> list[Case]:
    """Training that the default selection does not measure, and checks all the same: one step is
    cheap, and wrong gradients are silent. None for any other selection, none of the field's models.
    """
    if selection != Selection():
        return []
    cases = []
    for benchmark in benchmarks:
        is_checked = benchmark.mode == "training" and not benchmark.default_configs
        if is_checked and benchmark.size == size and not is_of_field(benchmark.family):
            cases.append(Case(benchmark.name, CHECKED_CONFIG, accuracy_only=True))
    return cases


def is_of_field(family: str) -> bool:
    """Test whether its models are those that PyTorch's own benchmarks/dynamo runs."""
    return family.startswith(FIELD_FAMILIES)


def choose_benchmarks(
    selection: Selection, benchmarks: Sequence[BenchmarkFacts], size: str
) -> list[BenchmarkFacts]:
    """Named benchmarks, and those of named families; without either the default ones.

    Of families and by default only benchmarks of `size` and own models.
    """
    require_known("benchmark", selection.benchmarks, [b.name for b in benchmarks])
    require_known("family", selection.families, list(dict.fromkeys(b.family for b in benchmarks)))
    suitable = [b for b in benchmarks if b.size in {size, OWN_SIZE}]
    if not selection.benchmarks and not selection.families:
        return [b for b in suitable if b.default_configs]
    names = {b.name for b in suitable if b.family in selection.families}
    names.update(selection.benchmarks)
    return [b for b in benchmarks if b.name in names]


def require_known(kind: str, names: Sequence[str], existing: Sequence[str]) -> None:
    """Raise PlanError for the first of `names` that is not among `existing`, with near ones."""
    for name in names:
        if name not in existing:
            raise PlanError(f"Unknown {kind} {name[:200]!r}. {hint(name, existing)}")


def hint(name: str, existing: Sequence[str]) -> str:
    """Suggest what to write instead of `name`."""
    if not existing:
        return NOTHING_KNOWN
    near = get_close_matches(name, existing, n=NEAR_NAMES, cutoff=0.5)
    near = near or _names_with(name, existing)[:NEAR_NAMES]
    if near:
        return f"Did you mean {' or '.join(near)}?"
    shown = ", ".join(sorted(existing)[:SHOWN_NAMES])
    if len(existing) > SHOWN_NAMES:
        shown += " ..."
    return f"Known: {shown}."


def _names_with(part: str, existing: Sequence[str]) -> list[str]:
    """The names that contain `part`, those that begin with it first: a part of a long name is not
    near the whole.
    """
    names = [name for name in existing if part and part in name]
    return sorted(names, key=lambda name: not name.startswith(part))


def nothing_to_measure(benchmarks: Sequence[BenchmarkFacts], size: str) -> str:
    if not benchmarks:
        return NOTHING_KNOWN
    sizes = ", ".join(sorted({b.size for b in benchmarks}))
    return (
        f"Nothing to measure: no chosen benchmark has size {size!r} and a config to measure "
        f"(sizes: {sizes}). Name benchmarks, or change the machine's default size."
    )


def job_file(  # noqa: PLR0913 - each is a field of the contract
    *,
    job_id: str,
    case: Case,
    device: str,
    build: str,
    purpose: str,
    planned_at: datetime,
    measure: Document,
    timeout_s: float = TIMEOUT_S,
    variant: Document | None = None,
    repository: Document | None = None,
) -> dict[str, Any]:
    """The job.v1 of one case, at attempt 1. Raises PlanError: `measure` violates the contract."""
    document: dict[str, Any] = {
        "schema": "job.v1",
        "job_id": job_id,
        "attempt": 1,
        "purpose": purpose,
        "benchmark": case.benchmark,
        "config": case.config,
        "device": device,
        "build": build,
        "planned_at": planned_at.isoformat(),
        "measure": dict(measure),
        "timeout_s": timeout_s,
    }
    if variant:
        document["variant"] = dict(variant)
    if repository:
        document["repository"] = dict(repository)
    try:
        check_job(document)
    except Refused as error:
        raise PlanError(f"The job file would be invalid: {error}") from None
    return document


def check_job(document: Document) -> None:
    """Raise Refused where a job file violates the contract."""
    check_schema(document, _job_validator(), "job")


def check_variant(variant: Document) -> None:
    """Raise PlanError where a variant (environment, Inductor settings) violates the contract."""
    try:
        check_schema(dict(variant), _variant_validator(), "variant")
    except Refused as error:
        raise PlanError(f"This variant cannot be measured: {error}") from None


def budget(cases: Sequence[Case], measure: Document) -> Budget:
    """Estimate how long a run of `cases` takes, one after the other."""
    job_s = min(START_S + float(measure.get("budget_s", SAMPLING_S)), TIMEOUT_S)
    checked = sum(case.accuracy_only for case in cases)
    expected_s = (len(cases) - checked) * job_s + checked * START_S
    return Budget(len(cases), expected_s)


@cache
def _job_validator() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(read_schema("job.v1.json"), validate_formats=True)


@cache
def _variant_validator() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(read_schema("job.v1.json")["properties"]["variant"])
