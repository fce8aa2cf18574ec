"""PyTorch's benchmark records, version 3, as its benchmark database has them: one record a metric.

A file holds one record, a list of them, or one a line. Records of one case (benchmark, model, mode,
dtype, backend, runner, commit, time) make one result. Where a record has a list `shape` next to its
values, each of them is a case.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any

from dashboard.language.metrics import STATUS_METRIC
from dashboard.results.formats import fields
from dashboard.results.formats.common import CONFIG, STATUSES, ForeignMeasurement, Hints, ParsedFile
from dashboard.results.formats.fields import Record, mapping
from dashboard.results.formats.naming import our_metric
from dashboard.results.formats.records import flat_of

TOOL, DYNAMO = "v3 record", "TorchInductor"
MOST_RECORDS, MOST_VALUES, MOST_PARAMETERS = 100_000, 10_000, 50
# Of extra_info: what has a field of its own
ELSEWHERE = {"batch_size", "device", "arch", "compiler", "backend"}
# Of it: where and when a run wrote its files
VOLATILE = re.compile(r"output|(^|[._])(path|dir|file|filename|date|timestamp|run_id|job_id)$")


def matches(value: Any) -> bool:
    """Test whether a decoded value is such a record, or a list of them."""
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict):
        return False
    return {"benchmark", "metric"} <= first.keys() and "schema" not in first


def read(name: str, records: Iterable[tuple[str, Any]], hints: Hints) -> ParsedFile:
    """records: where each stands, and the decoded value."""
    file = ParsedFile("PyTorch benchmark records, v3")
    cases: dict[tuple[Any, ...], ForeignMeasurement] = {}
    for count, (where, record) in enumerate(records):
        if count == MOST_RECORDS:
            file.refuse(where, f"more than {MOST_RECORDS} records in one file: split it")
            break
        with file.part(where):
            for part in _by_shape(mapping(record, "the record")):
                case = _case(where, part, hints)
                case = cases.setdefault((*case.identity, case.build, case.at), case)
                _add_metric(case, where, mapping(part["metric"], "metric"), hints, file)
    for case in cases.values():
        if case.metrics or case.named:
            file.cases.append(case)
    return file


def _by_shape(record: Record) -> Iterator[Record]:
    """The record; where it has a value for each of several shapes, a record for each of them.

    The shape is then part of the model's name.
    """
    shapes, metric = record.get("shape"), mapping(record.get("metric"), "metric")
    values = metric.get("benchmark_values")
    if not isinstance(shapes, list) or not isinstance(values, list):
        yield record
        return
    if len(shapes) != len(values):
        raise fields.Malformed(
            f"metric.benchmark_values has {len(values)} entries for the {len(shapes)} of shape"
        )
    model = mapping(record.get("model"), "model")
    for shape, value in zip(shapes, values, strict=True):
        of_shape = {**model, "name": f"{model.get('name') or ''} {shape}"}
        yield {**record, "model": of_shape, "metric": {**metric, "benchmark_values": [value]}}


def _case(where: str, record: Record, hints: Hints) -> ForeignMeasurement:
    benchmark = mapping(record.get("benchmark"), "benchmark")
    model = mapping(record.get("model"), "model")
    extra = mapping(benchmark.get("extra_info"), "benchmark.extra_info")
    of_model = mapping(model.get("extra_info"), "model.extra_info")
    suite = fields.text(benchmark.get("name"), "benchmark.name")
    version, sha = _torch(mapping(record.get("dependencies"), "dependencies"))
    sha = sha or str(record.get("head_sha") or "")
    origins = model.get("origins")
    origin = str(origins[0]) if isinstance(origins, list) and origins else ""
    backend = model.get("backend") or extra.get("compiler") or extra.get("backend")
    return ForeignMeasurement(
        where,
        TOOL,
        str(model.get("name") or "") or suite,
        origin or suite,
        _build(version, sha, hints),
        _at(record, hints),
        config=hints.config or str(backend or CONFIG),
        mode=str(benchmark.get("mode") or "inference"),
        dtype=str(benchmark.get("dtype") or "float32"),
        batch_size=fields.whole(extra.get("batch_size") or 1, "benchmark.extra_info.batch_size"),
        suite=origin or (suite if model.get("name") else ""),
        # Of the same runners are the CSV files, whose suite is the origin
        parameters=_parameters(
            suite if origin and suite != DYNAMO else "",
            backend if hints.config else "",
            {**of_model, **extra},
        ),
        version=version,
        git_sha=sha,
        settings={"benchmark": suite[:200], "device": str(extra.get("device") or "")[:80]},
        **_machine(record, extra, hints),
    )


def _build(version: str, sha: str, hints: Hints) -> str:
    build = hints.build or version
    if not build and not sha:
        raise fields.Malformed(
            "neither head_sha nor dependencies names the build: give its label "
            "with the import (--build)"
        )
    return build or f"git-{sha[:12]}"


def _at(record: Record, hints: Hints) -> datetime:
    if "timestamp" not in record and hints.at is None:
        raise fields.Malformed(
            "timestamp is missing: say with the import when it was measured (--at)"
        )
    return fields.moment(record.get("timestamp"), "timestamp", hints.at)


def _torch(dependencies: Record) -> tuple[str, str]:
    """Version and commit of the torch that was used, as far as the record has them."""
    for name in ("pytorch", "torch", "pytorch/pytorch"):
        torch = mapping(dependencies.get(name), f"dependencies.{name}")
        if torch.get("version") or torch.get("sha"):
            return _first_text(torch, "version"), _first_text(torch, "sha")
    return "", ""


def _parameters(suite: str, backend: Any, extra: Record) -> dict[str, str]:
    """Suite, backend and extra_info, where they tell two records of one model apart."""
    values = {"benchmark": suite, "backend": backend}
    values |= {key: value for key, value in flat_of(extra).items() if key not in ELSEWHERE}
    parameters = {}
    for key, value in islice(values.items(), MOST_PARAMETERS):
        if value not in (None, "None", "", [], {}) and not VOLATILE.search(key):
            parameters[key] = str(value)
    return parameters


def _machine(record: Record, extra: Record, hints: Hints) -> dict[str, Any]:
    """Read the record's machine into fields of ForeignMeasurement.

    extra: benchmark.extra_info, which names the device where the record's first runner does not.
    """
    runner = _first_runner(record)
    device = str(extra.get("device") or "")
    device_name = str(extra.get("arch") or "") or device
    gpu = _first_text(runner, "gpu_info")
    if not gpu and device.startswith(("cuda", "NVIDIA", "AMD")):
        gpu = device_name
    cpu = _first_text(runner, "cpu_info", "type", "name") or device_name
    name = ""
    if not gpu and not (runner.get("cpu_info") and runner.get("cpu_count")):
        name = _first_text(runner, "name", "type")
        if not (name or hints.machine):
            raise fields.Malformed(
                "runners names no machine: give its key with the import (--machine)"
            )
    memory_gb = fields.number(runner.get("avail_mem_in_gb") or 0, "runners[0].avail_mem_in_gb")
    return {
        "machine": name,
        "gpu": gpu or None,
        "cpu": cpu or "unknown CPU",
        "cores": fields.whole(runner.get("cpu_count") or 1, "runners[0].cpu_count"),
        "memory_gb": memory_gb,
    }


def _first_runner(record: Record) -> Record:
    runners = record.get("runners") or []
    if not isinstance(runners, list):
        raise fields.Malformed("runners is not a list")
    return mapping(runners[0] if runners else None, "runners[0]")


def _first_text(values: Record, *keys: str) -> str:
    """The first of these values that is not empty, as text."""
    return next((str(values[key]) for key in keys if values.get(key)), "")


def _add_metric(
    case: ForeignMeasurement, where: str, metric: Record, hints: Hints, file: ParsedFile
) -> None:
    name = fields.text(metric.get("name"), "metric.name")
    values = metric.get("benchmark_values")
    words = mapping(metric.get("extra_info"), "metric.extra_info").get("benchmark_values")
    if not values and isinstance(words, list) and words:
        _set_status(case, name, str(words[0]), file)
        return
    numbers = _numbers(values)
    if name == "accuracy" and set(numbers) <= {0.0, 1.0}:
        _set_status(case, name, "pass" if all(numbers) else "fail_accuracy", file)
        return

    upper_median = sorted(numbers)[len(numbers) // 2]
    entry = our_metric(
        name, upper_median, hints, len(numbers), on_cpu=case.settings.get("device") == "cpu"
    )
    if entry is None:
        file.left_out[name] += 1
        return
    key, value = entry
    file.add_metric(case, where, name, key, value)
    if key == "latency_ms" and len(numbers) > 1:
        _, factor = hints.metric_of(name) or ("", 1.0)
        case.samples_ms = [number * factor for number in numbers]


def _numbers(values: Any) -> list[float]:
    field_name = "metric.benchmark_values"
    if not isinstance(values, list) or not values:
        raise fields.Malformed(f"{field_name} is empty")
    if len(values) > MOST_VALUES:
        raise fields.Malformed(
            f"{field_name} has {len(values)} entries; at most {MOST_VALUES} are read"
        )
    return [fields.number(value, f"{field_name}[{place}]") for place, value in enumerate(values)]


def _set_status(case: ForeignMeasurement, name: str, status: str, file: ParsedFile) -> None:
    if name not in {"accuracy", "status"}:
        file.left_out[name] += 1
        return
    if status not in {*STATUSES, *STATUSES.values()}:
        raise fields.Malformed(
            f"metric.extra_info.benchmark_values[0] is {status!r}: expected {', '.join(STATUSES)}"
        )
    case.status = STATUSES.get(status, status)
    case.named[STATUS_METRIC] = name, case.where
    case.message = "" if case.status == "pass" else f"the record says {status}"
