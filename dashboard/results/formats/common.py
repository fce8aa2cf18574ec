"""Measured cases, as every format is read into them, and what of a file was refused and why."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from dashboard.language.metrics import STATUS_METRIC

if TYPE_CHECKING:
    from dashboard.results.formats.mapping import Table

Document = dict[str, Any]
CONFIG = "imported"  # where the file names no way to execute
# Status words of PyTorch's runners -> ours
STATUSES = {
    "pass": "pass",
    "pass_due_to_skip": "pass",
    "fail_accuracy": "fail_accuracy",
    "eager_two_runs_differ": "eager_two_runs_differ",
    "fail_to_run": "fail_to_run",
    "eager_1st_run_fail": "fail_to_run",
    "eager_2nd_run_fail": "fail_to_run",
    "eager_fail_to_run": "fail_to_run",
    "model_fail_to_load": "fail_to_run",
    "infra_error": "fail_to_run",
    "OOM": "oom",
    "fp64_OOM": "oom",
    "eager_1st_run_OOM": "oom",
    "eager_2nd_run_OOM": "oom",
    "timeout": "timeout",
    "model_fail_to_load_timeout": "timeout",
}


@cache
def pattern(text: str) -> re.Pattern[str]:
    """`*` is anything, {config} too, under that name."""
    parts = re.split(r"(\*|\{[a-z_]+\})", text)
    for place, part in enumerate(parts):
        if part == "*":
            parts[place] = ".*"
        elif place % 2:
            parts[place] = f"(?P<{part[1:-1]}>.+)"
        else:
            parts[place] = re.escape(part)
    return re.compile("".join(parts), re.DOTALL)


@dataclass(frozen=True, slots=True)
class Hints:
    """Facts that the person who imports gives, where a file does not.

    build: its label; at: when it was measured. metrics: name of theirs, pattern of names or unit ->
    (our key, factor to our unit). table: the mapping by which each file is read.
    """

    build: str = ""
    at: datetime | None = None
    machine: str = ""
    config: str = ""
    metrics: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    table: "Table | None" = None


NO_HINTS = Hints()


@dataclass(frozen=True, slots=True)
class RefusedPart:
    """where: file, line or record. why: field and reason."""

    where: str
    why: str


@dataclass(slots=True)
class ParsedFile:
    """Contents of a file.

    format: its kind in words; repeats: it may have a case several times. cases: other tools'
    measurements; documents: results with their places. left_out: metrics that this site does not
    have -> how often. by_case: identity, build and time -> the case.
    """

    format: str = ""
    repeats: bool = False
    cases: list["ForeignMeasurement"] = field(default_factory=list)
    documents: list[tuple[str, Document]] = field(default_factory=list)
    refused: list[RefusedPart] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    by_case: dict[tuple[Any, ...], "ForeignMeasurement"] = field(default_factory=dict)

    def refuse(self, where: str, why: str) -> None:
        self.refused.append(RefusedPart(where, why))

    def case_of(self, case: "ForeignMeasurement") -> "ForeignMeasurement":
        """The case that is there with this identity and time; else this one, which is added."""
        place = case.where if self.repeats else ""
        key = *case.identity, case.build, case.at, place
        if key not in self.by_case:
            self.by_case[key] = case
            self.cases.append(case)
        return self.by_case[key]

    def add(
        self,
        case: "ForeignMeasurement",
        where: str,
        name: str,
        key: str,
        value: "MetricValue | str",
    ) -> None:
        """Their `name` is our `key` of the case: a number, or its status. Two that differ are both
        refused.
        """
        first, place, earlier = case.named.setdefault(key, (name, where, value))
        if (first, earlier) != (name, value):
            case.unclear.add(key)
            self.refuse(
                where,
                f"{name} would be a second {key} of {case.original} ({case.config}), next to "
                f"{first} ({place})",
            )
        elif isinstance(value, str):
            case.status = value
        else:
            case.metrics[key] = value

    def leave_out_unclear(self) -> None:
        """Leave out what two values of one case would be, and cases that then have nothing."""
        for case in self.cases:
            for key in case.unclear:
                case.metrics.pop(key, None)
            if "latency_ms" in case.unclear:
                case.samples_ms = []
        self.cases = [
            case
            for case in self.cases
            if STATUS_METRIC not in case.unclear and (case.metrics or STATUS_METRIC in case.named)
        ]


@dataclass(frozen=True, slots=True)
class MetricValue:
    """A value in our unit, with its 95% interval where the file has one."""

    value: float
    low: float | None = None
    high: float | None = None
    n: int = 0


@dataclass(slots=True)
class ForeignMeasurement:
    """One case, once. Units are those of dashboard/language/metrics.py; samples_ms: single steps.

    model, suite, parameters: as their format calls it; equal ones are one benchmark. config: their
    way to execute it; plain_config: its name before an environment was part of it.
    build: label; version, git_sha: of torch, or of the project that was measured. tool: what
    measured it. machine: its name; empty: it is named after its hardware. named: our key -> their
    metric, its place and value; unclear: keys that two of their metrics would be.
    """

    where: str
    tool: str
    model: str
    family: str
    build: str
    at: datetime
    config: str = CONFIG
    mode: str = "inference"
    dtype: str = "float32"
    batch_size: int = 1
    suite: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    plain_config: str = ""
    version: str = ""
    git_sha: str = ""
    machine: str = ""
    gpu: str | None = None
    cpu: str = "unknown CPU"
    cores: int = 1
    memory_gb: float = 0.0
    python: str = ""
    status: str = "pass"
    message: str = ""
    metrics: dict[str, MetricValue] = field(default_factory=dict)
    samples_ms: list[float] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    named: dict[str, tuple[str, str, "MetricValue | str"]] = field(default_factory=dict)
    unclear: set[str] = field(default_factory=set)

    @property
    def original(self) -> str:
        """Their name in full: model (suite) [parameter=value]."""
        suite = f" ({self.suite})" if self.suite else ""
        parameters = ", ".join(f"{key}={value}" for key, value in sorted(self.parameters.items()))
        return f"{self.model}{suite}{f' [{parameters}]' if parameters else ''}"

    @property
    def benchmark(self) -> tuple[str, str, str, int]:
        return self.original, self.mode, self.dtype, self.batch_size

    @property
    def identity(self) -> tuple[Any, ...]:
        """Equal for what belongs to one series of a track, but for its metric."""
        return *self.benchmark, self.config, self.machine, self.gpu, self.cpu, self.cores
