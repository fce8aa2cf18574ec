"""Names of benchmarks and configs for what other tools measured, and the result documents.

A name that is a key already is the test's own; of one that loses a letter, a suite or a parameter
the key ends in a digest of the whole. Names that earlier imports gave go on.
"""

import hashlib
import json
import re
import uuid
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC
from typing import Any

from dashboard.language.metrics import METRICS
from dashboard.results.formats.common import Document, ForeignMeasurement, MetricValue, ParsedFile

SIZE = "imported"
MOST_SAMPLES = 10_000
MODEL_LENGTH, CONFIG_LENGTH, PART_LENGTH = 80, 60, 40
# Of the ids of jobs that other tools ran
_NAMESPACE = uuid.UUID("0f6c3a52-6c1e-4f4e-a9a3-0f5b6a7d3c11")
# Suites of PyTorch's runners -> the family of our own models of the same names
FIELD_FAMILIES = {
    "huggingface": "field-huggingface",
    "timm": "field-timm",
    "timm_models": "field-timm",
    "torchbench": "field-torchvision",
}


# Key of a benchmark, or of it and a config -> the cases of a file that would have had it
Claims = defaultdict[str | tuple[str, str], set[tuple[Any, ...]]]


@dataclass(slots=True)
class EarlierBenchmark:
    """A benchmark that an import made. configs: key -> what they call it.

    An empty original or config stands for one of which only the key was kept: the first case that
    would have got it then owns it.
    """

    original: str = ""
    configs: dict[str, str] = field(default_factory=dict)


class ImportedNames:
    """Keys of the benchmarks and configs of one import.

    earlier: by name. field_models: (family, model) of what PyTorch's runners and this site have.
    """

    def __init__(
        self,
        earlier: Mapping[str, EarlierBenchmark] | None = None,
        field_models: Collection[tuple[str, str]] = (),
    ) -> None:
        self._earlier = dict(earlier or {})
        self._field_models = field_models
        self._names: dict[tuple[str, str], str] = {}  # (their name, the rest of ours) -> ours
        for name, benchmark in self._earlier.items():
            if benchmark.original:
                self._names[benchmark.original, name.partition(".")[2]] = name

    def documents(self, file: ParsedFile) -> list[tuple[str, Document]]:
        """The documents of a file's cases, each with its place."""
        claims: Claims = defaultdict(set)
        for case in file.cases:
            for name in former_names(case):
                claims[name].add(case.benchmark)
                claims[name, former_config(case)].add((case.benchmark, case.config))
        documents = []
        for case in file.cases:
            name = self._name(case, claims)
            config = self._config(name, case, claims)
            documents.append((case.where, document(case, name, config)))
        return documents

    def _name(self, case: ForeignMeasurement, claims: Claims) -> str:
        new = benchmark_name(case, plain=self._is_of_field(case))
        place = case.original, new.partition(".")[2]
        if place in self._names:
            return self._names[place]
        for former in former_names(case):
            benchmark = self._earlier.get(former)
            if benchmark is None or benchmark.original or len(claims[former]) > 1:
                continue
            config = former_config(case)
            if config in benchmark.configs or config != key(case.config, CONFIG_LENGTH):
                new = former
                break
        self._earlier.setdefault(new, EarlierBenchmark()).original = case.original
        self._names[place] = new
        return new

    def _config(self, name: str, case: ForeignMeasurement, claims: Claims) -> str:
        configs = self._earlier[name].configs
        former = former_config(case)
        is_sole = len(claims[name, former]) < 2
        if configs.get(former) == case.config or (configs.get(former) == "" and is_sole):
            configs[former] = case.config
            return former
        return key(case.config, CONFIG_LENGTH)

    def _is_of_field(self, case: ForeignMeasurement) -> bool:
        family = FIELD_FAMILIES.get(case.suite, "")
        return not case.parameters and (family, plain_word(case.model)) in self._field_models


def benchmark_name(case: ForeignMeasurement, *, plain: bool = False) -> str:
    """The key of a benchmark. plain: its model's name alone tells it apart."""
    model = plain_word(case.model)
    if not plain and (model != case.original or len(model) > MODEL_LENGTH):
        model = with_digest(case.model, MODEL_LENGTH, of=case.original)
    return f"{model}.{_rest(case)}"


def former_names(case: ForeignMeasurement) -> list[str]:
    """Keys that it may have from imports before its whole name was kept."""
    model = plain_word(case.model)
    short = model if len(model) <= MODEL_LENGTH else with_digest(case.model, MODEL_LENGTH)
    return [f"{short}.{_rest(case)}", f"{with_digest(case.model, MODEL_LENGTH)}.{_rest(case)}"]


def former_config(case: ForeignMeasurement) -> str:
    config = case.plain_config or case.config
    plain = plain_word(config)
    return plain if len(plain) <= CONFIG_LENGTH else with_digest(config, CONFIG_LENGTH)


def _rest(case: ForeignMeasurement) -> str:
    mode, dtype = key(case.mode.lower(), PART_LENGTH), key(case.dtype.lower(), PART_LENGTH)
    return f"{SIZE}.{mode}.{dtype}.static.b{case.batch_size}"


def key(text: str, most: int) -> str:
    """A name as keys have it: lower-case letters, digits, _; else it ends in a digest."""
    plain = plain_word(text)
    return plain if plain == text and len(plain) <= most else with_digest(text, most)


def with_digest(text: str, most: int, of: str = "") -> str:
    digest = hashlib.sha256((of or text).encode()).hexdigest()[:8]
    return f"{plain_word(text)[: most - 9]}_{digest}"


def clipped(text: str, most: int = 200) -> str:
    """The text; of a longer one its beginning and a digest, so that two stay two."""
    if len(text) <= most:
        return text
    return f"{text[: most - 9]}_{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def plain_word(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "unnamed"


def document(case: ForeignMeasurement, name: str, config: str) -> Document:
    """The result.v1 of a case: the same case is the same document, so that it is imported once."""
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
            "family": plain_word(case.family)[:PART_LENGTH],
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
    job = {
        "attempt": 1,
        "benchmark": name,
        "config": config,
        "build": clipped(case.build),
        "planned_at": at,
        "imported": {"benchmark": case.original, "config": case.config},
    }
    digest = hashlib.sha256(json.dumps([body, job], sort_keys=True).encode()).hexdigest()
    return {**body, "job": {"job_id": str(uuid.uuid5(_NAMESPACE, digest)), **job}}


def _environment(case: ForeignMeasurement) -> Document:
    described: Document = {
        "torch": {
            "version": (case.version or case.build)[:80],
            "git_sha": case.git_sha[:80] or None,
        },
        "python": case.python[:80] or "unknown",
        "libraries": {},
        "machine": {
            "cpu": clipped(case.cpu),
            "cores": case.cores,
            "memory_gb": case.memory_gb,
            "gpu": clipped(case.gpu) if case.gpu else None,
        },
        "settings": {"measured by": case.tool, **case.settings},
    }
    if case.machine:
        described["machine"]["name"] = clipped(case.machine)
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()
    return {"fingerprint": digest[:16], **described}


def _entry(metric: MetricValue) -> Document:
    return {key: value for key, value in asdict(metric).items() if value is not None}
