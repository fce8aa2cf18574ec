"""PyTorch's benchmark records, version 3: one record a metric, as its benchmark database and uploads have them.

A file holds one record, a list of them, or one a line. Records of one case (benchmark, model, mode, dtype, backend,
runner, commit, time) make one result.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from dashboard.importing.dynamo_metrics import metric as dynamo_metric
from dashboard.importing.form import (
    STATUSES,
    Hints,
    Malformed,
    Measured,
    Metric,
    Refusal,
    Understood,
    document,
    mapping,
    moment,
    number,
    text,
    whole,
)
from dashboard.metrics import METRICS

TOOL = "v3 record"
MOST_RECORDS, MOST_VALUES = 100_000, 10_000
OTHERS = {"latency": "latency_ms", "throughput": "throughput_per_s", "peak_memory": "peak_memory_gb"}  # ms, /s, GB


def is_one(value: Any) -> bool:
    """Whether a decoded value is such a record, or a list of them."""
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and {"benchmark", "metric"} <= first.keys() and "schema" not in first


def read(name: str, records: Iterable[tuple[str, Any]], hints: Hints) -> Understood:
    """records: where each stands, and the decoded value."""
    found, cases = Understood("PyTorch benchmark records, v3"), dict[tuple[Any, ...], Measured]()
    for count, (where, record) in enumerate(records):
        if count == MOST_RECORDS:
            found.refused.append(Refusal(where, f"more than {MOST_RECORDS} records in one file: split it"))
            break
        try:
            case = _case(where, mapping(record, "the record"), hints)
            case = cases.setdefault(_identity(case), case)
            _add_metric(case, mapping(record["metric"], "metric"), found)
        except Malformed as error:
            found.refused.append(Refusal(where, str(error)))
    found.documents = [(case.where, document(case)) for case in cases.values() if case.metrics or case.status != "pass"]
    return found


def _identity(case: Measured) -> tuple[Any, ...]:
    of_case = (case.model, case.family, case.config, case.mode, case.dtype, case.batch_size)
    return (*of_case, case.build, case.at, case.gpu, case.cpu, case.cores, str(sorted(case.settings.items())))


def _case(where: str, record: Mapping[str, Any], hints: Hints) -> Measured:
    benchmark, model = mapping(record.get("benchmark"), "benchmark"), mapping(record.get("model"), "model")
    more, runner = mapping(benchmark.get("extra_info"), "benchmark.extra_info"), _runner(record)
    suite = text(benchmark.get("name"), "benchmark.name")
    sha = str(record.get("head_sha") or "")
    version = _torch_version(mapping(record.get("dependencies"), "dependencies"))
    return Measured(
        where, TOOL, str(model.get("name") or "") or suite, _origin(model) or suite,
        hints.build or _build(version, sha), _at(record, hints),
        config=str(model.get("backend") or more.get("compiler") or "imported"),
        mode=str(benchmark.get("mode") or "inference"), dtype=_dtype(benchmark),
        batch_size=whole(more.get("batch_size") or 1, "benchmark.extra_info.batch_size"),
        version=version, git_sha=sha, settings=_settings(suite, more),
        **_machine(runner, str(more.get("device") or ""), hints),
    )  # fmt: skip


def _dtype(benchmark: Mapping[str, Any]) -> str:
    return str(benchmark.get("dtype") or "float32")


def _at(record: Mapping[str, Any], hints: Hints) -> datetime:
    if "timestamp" in record:
        return moment(record["timestamp"], "timestamp")
    if hints.at is None:
        raise Malformed("timestamp is missing: say with the import when it was measured")
    return hints.at


def _build(version: str, sha: str) -> str:
    if version:
        return version
    if sha:
        return f"git-{sha[:12]}"
    raise Malformed("neither head_sha nor dependencies names the build: give its label with the import")


def _torch_version(dependencies: Mapping[str, Any]) -> str:
    for name in ("pytorch", "torch", "pytorch/pytorch"):
        if version := mapping(dependencies.get(name), f"dependencies.{name}").get("version"):
            return str(version)
    return ""


def _origin(model: Mapping[str, Any]) -> str:
    origins = model.get("origins")
    return str(origins[0]) if isinstance(origins, list) and origins else ""


def _runner(record: Mapping[str, Any]) -> Mapping[str, Any]:
    runners = record.get("runners") or []
    if not isinstance(runners, list):
        raise Malformed("runners is not a list")
    return mapping(runners[0] if runners else None, "runners[0]")


def _machine(runner: Mapping[str, Any], device: str, hints: Hints) -> dict[str, Any]:
    gpu = str(runner.get("gpu_info") or "") or (device if device.startswith(("cuda", "NVIDIA", "AMD")) else "")
    if not (gpu or runner.get("cpu_info") or runner.get("type") or runner.get("name") or hints.machine or device):
        raise Malformed("runners is empty: give the machine's key with the import")
    cpu = str(runner.get("cpu_info") or runner.get("type") or runner.get("name") or device or "unknown CPU")
    cores = whole(runner.get("cpu_count") or 1, "runners[0].cpu_count")
    memory = number(runner.get("avail_mem_in_gb") or 0, "runners[0].avail_mem_in_gb")
    return {"gpu": gpu or None, "cpu": cpu, "cores": cores, "memory_gb": memory}


def _settings(suite: str, more: Mapping[str, Any]) -> dict[str, Any]:
    told = {key[:80]: str(value)[:200] for key, value in list(more.items())[:50] if key != "batch_size"}
    return {"benchmark": suite[:200], **told}


def _add_metric(case: Measured, metric: Mapping[str, Any], found: Understood) -> None:
    name = text(metric.get("name"), "metric.name")
    values = metric.get("benchmark_values")
    words = mapping(metric.get("extra_info"), "metric.extra_info").get("benchmark_values")
    if not values and isinstance(words, list) and words:
        _add_status(case, name, str(words[0]), found)
        return
    if not isinstance(values, list) or not values:
        raise Malformed("metric.benchmark_values is empty")
    if len(values) > MOST_VALUES:
        raise Malformed(f"metric.benchmark_values has {len(values)} entries; at most {MOST_VALUES} are read")
    numbers = [number(value, f"metric.benchmark_values[{place}]") for place, value in enumerate(values)]
    middle = sorted(numbers)[len(numbers) // 2]
    if name == "accuracy":
        case.status = "pass" if middle >= 1 else "fail_accuracy"
    elif entry := _known(name, middle, len(numbers)):
        case.metrics[entry[0]] = entry[1]
        if entry[0] == "latency_ms" and len(numbers) > 1:
            case.samples_ms = numbers
    else:
        found.left_out[name] += 1


def _known(name: str, value: float, count: int) -> tuple[str, Metric] | None:
    if name in METRICS:
        return name, Metric(value, n=count)
    if name in OTHERS:
        return OTHERS[name], Metric(value, n=count)
    return dynamo_metric(name, value)


def _add_status(case: Measured, name: str, told: str, found: Understood) -> None:
    if name not in {"accuracy", "status"}:
        found.left_out[name] += 1
    elif told not in {*STATUSES, *STATUSES.values()}:
        raise Malformed(f"metric.extra_info.benchmark_values[0] is {told!r}: expected {', '.join(STATUSES)}")
    else:
        case.status = STATUSES.get(told, told)
        case.message = "" if case.status == "pass" else f"the record says {told}"
