"""What every format is read into: one measured case, and what of a file was refused and why."""

import hashlib
import json
import re
import uuid
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from dashboard.language.metrics import METRICS
from dashboard.results.formats.fields import Malformed

Document = dict[str, Any]
SIZE = "imported"
CONFIG = "imported"  # where the file names no way to execute
MOST_SAMPLES = 10_000
MODEL_LENGTH = 80
# Of the ids of jobs that other tools ran
_NAMESPACE = uuid.UUID("0f6c3a52-6c1e-4f4e-a9a3-0f5b6a7d3c11")
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


@dataclass(frozen=True, slots=True)
class Hints:
    """What the person who imports says, where a file does not.

    build: its label; at: when it was measured. metrics: name of theirs -> (our key, factor to our
    unit). existing: names of benchmarks that earlier imports made. field_models: models that
    PyTorch's own runners have, too, as this site names them.
    """

    build: str = ""
    at: datetime | None = None
    machine: str = ""
    config: str = ""
    metrics: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    existing: frozenset[str] = frozenset()
    field_models: frozenset[str] = frozenset()


NO_HINTS = Hints()


@dataclass(frozen=True, slots=True)
class RefusedPart:
    """where: file, line or record. why: field and reason."""

    where: str
    why: str


@dataclass(slots=True)
class ParsedFile:
    """What a file holds.

    format: its kind in words; cases: what was measured, of which `name_cases` makes documents;
    left_out: metrics that this site does not have -> how often.
    """

    format: str = ""
    cases: list["ForeignMeasurement"] = field(default_factory=list)
    documents: list[tuple[str, Document]] = field(default_factory=list)
    refused: list[RefusedPart] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def refuse(self, where: str, why: str) -> None:
        self.refused.append(RefusedPart(where, why))

    @contextmanager
    def part(self, where: str) -> Iterator[None]:
        """Around the reading of a part: where it is malformed, it is refused with its place."""
        try:
            yield
        except Malformed as error:
            self.refuse(where, str(error))

    def name_cases(self, existing: Collection[str], field_models: Collection[str] = ()) -> None:
        """Make the documents: two tests never share a name, and with it their series.

        A name of letters, digits and _ alone is the test's own. One that loses anything gets a
        digest of the whole, unless an earlier import made that name without one, or the model is
        measured here under that name.
        """
        texts: dict[str, set[str]] = {}
        for case in self.cases:
            texts.setdefault(benchmark_name(case), set()).add(case.model)
        for case in self.cases:
            plain = benchmark_name(case)
            is_own = word(case.model, MODEL_LENGTH) == case.model.lower() or plain in existing
            digested = replace(case, model=with_digest(case.model, MODEL_LENGTH))
            if plain_word(case.model) in field_models and benchmark_name(digested) not in existing:
                is_own = True
            named = case if is_own and len(texts[plain]) == 1 else digested
            self.documents.append((case.where, document(named)))


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

    build: label; version, git_sha: of torch, or of the project that was measured. tool: what
    measured it. machine: its name; empty: it is named after its hardware.
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
    version: str = ""
    git_sha: str = ""
    machine: str = ""
    gpu: str | None = None
    cpu: str = "unknown CPU"
    cores: int = 1
    memory_gb: float = 0.0
    python: str = ""
    libraries: dict[str, str] = field(default_factory=dict)
    status: str = "pass"
    message: str = ""
    metrics: dict[str, MetricValue] = field(default_factory=dict)
    samples_ms: list[float] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)


def document(case: ForeignMeasurement) -> Document:
    """The result.v1 of a case: the same case is the same document, so that it is imported once."""
    name = benchmark_name(case)
    model, _, mode, dtype, *_ = name.split(".")
    at = case.at.astimezone(UTC).isoformat(timespec="milliseconds")
    metrics = {key: _entry(metric) for key, metric in case.metrics.items() if key in METRICS}
    samples: Document = {}
    if case.samples_ms:
        samples["measured"] = {"unit": "ms", "values": case.samples_ms[:MOST_SAMPLES]}
    body = {
        "schema": "result.v1",
        "status": case.status,
        "message": case.message[:4000],
        "started_at": at,
        "finished_at": at,
        "suite_version": case.tool[:40],
        "benchmark": {
            "name": name,
            "model": model,
            "family": word(case.family, 40),
            "size": SIZE,
            "mode": mode,
            "dtype": dtype,
            "shapes": "static",
            "batch_size": case.batch_size,
            "version": 1,
            "item": "samples",
        },
        "environment": _environment(case),
        "metrics": metrics,
        "absent": {},
        "samples": samples,
    }
    config, build = word(case.config, 60), case.build[:200]
    job = {"attempt": 1, "benchmark": name, "config": config, "build": build, "planned_at": at}
    digest = hashlib.sha256(json.dumps([body, job], sort_keys=True).encode()).hexdigest()
    return {**body, "job": {"job_id": str(uuid.uuid5(_NAMESPACE, digest)), **job}}


def _environment(case: ForeignMeasurement) -> Document:
    described: Document = {
        "torch": {
            "version": (case.version or case.build)[:80],
            "git_sha": case.git_sha[:80] or None,
        },
        "python": case.python[:80] or "unknown",
        "libraries": {name[:80]: version[:80] for name, version in case.libraries.items()},
        "machine": {
            "cpu": case.cpu[:200],
            "cores": case.cores,
            "memory_gb": case.memory_gb,
            "gpu": case.gpu[:200] if case.gpu else None,
        },
        "settings": {"measured by": case.tool, **case.settings},
    }
    if case.machine:
        described["machine"]["name"] = case.machine[:200]
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()
    return {"fingerprint": digest[:16], **described}


def _entry(metric: MetricValue) -> Document:
    return {key: value for key, value in asdict(metric).items() if value is not None}


def benchmark_name(case: ForeignMeasurement) -> str:
    model, mode, dtype = word(case.model, MODEL_LENGTH), word(case.mode, 40), word(case.dtype, 40)
    return f"{model}.{SIZE}.{mode}.{dtype}.static.b{case.batch_size}"


def word(text: str, most: int) -> str:
    """A name as benchmarks have it: lower-case letters, digits, _; a long one ends in a digest."""
    plain = plain_word(text)
    return plain if len(plain) <= most else with_digest(text, most)


def with_digest(text: str, most: int) -> str:
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{plain_word(text)[: most - 9]}_{digest}"


def plain_word(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "unnamed"
