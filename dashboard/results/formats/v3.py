"""PyTorch's benchmark records, version 3: one record a metric, as its benchmark database and
uploads have them.

A file holds one record, a list of them, or one a line. Records of one case (benchmark, model, mode,
dtype, backend, runner, commit, time) make one result. Where a record has a list `shape` beside its
values, each of them is a case.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from dashboard.results.formats import fields
from dashboard.results.formats.fields import mapping
from dashboard.results.formats.common import CONFIG, STATUSES, ForeignMeasurement, Hints, ParsedFile
from dashboard.results.formats.naming import our_metric as our_metric

TOOL = "v3 record"
MOST_RECORDS, MOST_VALUES = 100_000, 10_000


def matches(value: Any) -> bool:
    """Whether a decoded value is such a record, or a list of them."""
    first = value[0] if isinstance(value, list) and value else value
    return (
        isinstance(first, dict)
        and {"benchmark", "metric"} <= first.keys()
        and "schema" not in first
    )


def read(name: str, records: Iterable[tuple[str, Any]], hints: Hints) -> ParsedFile:
    """records: where each stands, and the decoded value."""
    found, cases = (
        ParsedFile("PyTorch benchmark records, v3"),
        dict[tuple[Any, ...], ForeignMeasurement](),
    )
    for count, (where, record) in enumerate(records):
        if count == MOST_RECORDS:
            found.refuse(where, f"more than {MOST_RECORDS} records in one file: split it")
            break
        with found.part(where):
            for part in _by_shape(mapping(record, "the record")):
                case = _case(where, part, hints)
                case = cases.setdefault(_identity(case), case)
                _add_metric(case, mapping(part["metric"], "metric"), hints, found)
    for case in cases.values():
        if case.metrics or case.status != "pass":
            found.add(case)
    return found


def _by_shape(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The record; of one that has a value for each of several shapes, one for each, the shape in
    the model's name.
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


def _identity(case: ForeignMeasurement) -> tuple[Any, ...]:
    of_case = (case.model, case.family, case.config, case.mode, case.dtype, case.batch_size)
    return (
        *of_case,
        case.build,
        case.at,
        case.gpu,
        case.cpu,
        case.cores,
        str(sorted(case.settings.items())),
    )


def _case(where: str, record: Mapping[str, Any], hints: Hints) -> ForeignMeasurement:
    benchmark, model = (
        mapping(record.get("benchmark"), "benchmark"),
        mapping(record.get("model"), "model"),
    )
    more, runner = mapping(benchmark.get("extra_info"), "benchmark.extra_info"), _runner(record)
    suite = fields.text(benchmark.get("name"), "benchmark.name")
    sha = str(record.get("head_sha") or "")
    version = _torch_version(mapping(record.get("dependencies"), "dependencies"))
    return ForeignMeasurement(
        where,
        TOOL,
        str(model.get("name") or "") or suite,
        _origin(model) or suite,
        hints.build or _build(version, sha),
        _at(record, hints),
        config=hints.config
        or str(model.get("backend") or more.get("compiler") or more.get("backend") or CONFIG),
        mode=str(benchmark.get("mode") or "inference"),
        dtype=_dtype(benchmark),
        batch_size=fields.whole(more.get("batch_size") or 1, "benchmark.extra_info.batch_size"),
        version=version,
        git_sha=sha,
        settings=_settings(suite, more),
        **_machine(runner, more, hints),
    )


def _dtype(benchmark: Mapping[str, Any]) -> str:
    return str(benchmark.get("dtype") or "float32")


def _at(record: Mapping[str, Any], hints: Hints) -> datetime:
    if "timestamp" in record:
        return fields.moment(record["timestamp"], "timestamp")
    if hints.at is None:
        raise fields.Malformed("timestamp is missing: say with the import when it was measured")
    return hints.at


def _build(version: str, sha: str) -> str:
    if version:
        return version
    if sha:
        return f"git-{sha[:12]}"
    raise fields.Malformed(
        "neither head_sha nor dependencies names the build: give its label with the import"
    )


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
        raise fields.Malformed("runners is not a list")
    return mapping(runners[0] if runners else None, "runners[0]")


def _machine(runner: Mapping[str, Any], more: Mapping[str, Any], hints: Hints) -> dict[str, Any]:
    device, arch = str(more.get("device") or ""), str(more.get("arch") or "")
    has_gpu = device.startswith(("cuda", "NVIDIA", "AMD"))
    gpu = str(runner.get("gpu_info") or "") or ((arch or device) if has_gpu else "")
    told = str(runner.get("cpu_info") or runner.get("type") or runner.get("name") or arch or device)
    if not (gpu or told or hints.machine):
        raise fields.Malformed("runners is empty: give the machine's key with the import")
    cores = fields.whole(runner.get("cpu_count") or 1, "runners[0].cpu_count")
    memory = fields.number(runner.get("avail_mem_in_gb") or 0, "runners[0].avail_mem_in_gb")
    return {"gpu": gpu or None, "cpu": told or "unknown CPU", "cores": cores, "memory_gb": memory}


def _settings(suite: str, more: Mapping[str, Any]) -> dict[str, Any]:
    told = {
        key[:80]: str(value)[:200] for key, value in list(more.items())[:50] if key != "batch_size"
    }
    return {"benchmark": suite[:200], **told}


def _add_metric(
    case: ForeignMeasurement, metric: Mapping[str, Any], hints: Hints, found: ParsedFile
) -> None:
    name = fields.text(metric.get("name"), "metric.name")
    values = metric.get("benchmark_values")
    words = mapping(metric.get("extra_info"), "metric.extra_info").get("benchmark_values")
    if not values and isinstance(words, list) and words:
        _add_status(case, name, str(words[0]), found)
        return
    if not isinstance(values, list) or not values:
        raise fields.Malformed("metric.benchmark_values is empty")
    if len(values) > MOST_VALUES:
        raise fields.Malformed(
            f"metric.benchmark_values has {len(values)} entries; at most {MOST_VALUES} are read"
        )
    numbers = [
        fields.number(value, f"metric.benchmark_values[{place}]")
        for place, value in enumerate(values)
    ]
    if name == "accuracy" and set(numbers) <= {0.0, 1.0}:
        case.status = "pass" if all(numbers) else "fail_accuracy"
    elif entry := our_metric(name, sorted(numbers)[len(numbers) // 2], hints, len(numbers)):
        case.metrics[entry[0]] = entry[1]
        if entry[0] == "latency_ms" and len(numbers) > 1:
            case.samples_ms = [number * hints.metrics.get(name, ("", 1.0))[1] for number in numbers]
    else:
        found.left_out[name] += 1


def _add_status(case: ForeignMeasurement, name: str, told: str, found: ParsedFile) -> None:
    if name not in {"accuracy", "status"}:
        found.left_out[name] += 1
    elif told not in {*STATUSES, *STATUSES.values()}:
        raise fields.Malformed(
            f"metric.extra_info.benchmark_values[0] is {told!r}: expected {', '.join(STATUSES)}"
        )
    else:
        case.status = STATUSES.get(told, told)
        case.message = "" if case.status == "pass" else f"the record says {told}"
