"""PyTorch's benchmark records, version 3, as its benchmark database has them: one record a metric.

A file holds one record, a list of them, or one a line. Where a record has a list `shape` next to
its values, each of them is a case.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from dashboard.results.formats import fields, mapped
from dashboard.results.formats.common import Document, Hints, ParsedFile
from dashboard.results.formats.mapping import Table
from dashboard.results.formats.records import changed, flat_of
from dashboard.results.formats.tables import RUNNER_RULES

TOOL, DYNAMO = "v3 record", "TorchInductor"
TORCH = [f"dependencies.{name}" for name in ("pytorch", "torch", "pytorch/pytorch")]
EXTRA = "benchmark.extra_info."
VALUES, WORDS = "metric.benchmark_values", "metric.extra_info.benchmark_values"
TABLE = Table(
    RUNNER_RULES,
    {
        "tool": TOOL,
        "benchmark": "{model.name|benchmark.name}",
        "family": "{origin|benchmark.name}",
        "suite": "{suite}",
        "config": f"{{model.backend|{EXTRA}compiler|{EXTRA}backend}}",
        "mode": "{benchmark.mode}",
        "dtype": "{benchmark.dtype}",
        "batch_size": f"{{{EXTRA}batch_size}}",
        "build": f"{{{'|'.join(f'{name}.version' for name in TORCH)}}}",
        "commit": f"{{{'|'.join(f'{name}.sha' for name in TORCH)}|head_sha}}",
        "time": "{timestamp}",
        "machine": "{machine}",
        "gpu": "{gpu}",
        "cpu": f"{{runner.cpu_info|runner.type|runner.name|{EXTRA}arch|{EXTRA}device}}",
        "cores": "{runner.cpu_count}",
        "memory_gb": "{runner.avail_mem_in_gb}",
        "name": "{metric.name}",
        "value": VALUES,
        "status": "{status}",
    },
    title="PyTorch benchmark records, v3",
    parameters=("benchmark", "model.extra_info.*", f"{EXTRA}*"),
    settings={"benchmark": "{benchmark.name}", "device": f"{{{EXTRA}device}}"},
)
# Of extra_info: where and when a run wrote its files
VOLATILE = re.compile(r"output|(^|[._])(path|dir|file|filename|date|timestamp|run_id|job_id)$")


def matches(value: Any) -> bool:
    """Test whether a decoded value is such a record, or a list of them."""
    first = value[0] if isinstance(value, list) and value else value
    needed = {"benchmark", "metric"}
    return isinstance(first, dict) and needed <= first.keys() and "schema" not in first


def read(records: Iterable[tuple[str, Any]], hints: Hints) -> ParsedFile:
    """records: where each stands, and the decoded value."""
    return mapped.read(changed(records, lambda record: _flat(record, hints)), TABLE, hints)


def _flat(record: Any, hints: Hints) -> list[Document]:
    """The record, or one for each of its shapes, with columns for what several fields say."""
    flat = flat_of(fields.mapping(record, "the record"))
    for key in ("benchmark", "model", "metric"):
        fields.mapping(record.get(key), key)
    suite = fields.text(flat.get("benchmark.name"), "benchmark.name")
    [origin, *_] = [*fields.items(flat.get("model.origins") or [], "model.origins"), ""]
    [runner, *_] = [*fields.items(record.get("runners") or [], "runners"), {}]
    model, shapes, values = (flat.get(key) for key in ("model.name", "shape", VALUES))
    flat |= flat_of(fields.mapping(runner, "runners[0]"), "runner.")
    flat |= _machine(flat, hints) | {
        "origin": origin,
        "suite": origin or (suite if model or shapes else ""),
        # Of the same runners are the CSV files, whose suite is the origin
        "benchmark": suite if origin and suite != DYNAMO else "",
    }
    for key in [key for key in flat if ".extra_info." in key and VOLATILE.search(key)]:
        del flat[key]
    parts: list[Document] = [{}]
    if isinstance(shapes, list) and isinstance(values, list):
        if len(shapes) != len(values):
            why = f"{VALUES} has {len(values)} entries for the {len(shapes)} of shape"
            raise fields.Malformed(why)
        pairs = zip(shapes, values, strict=True)
        parts = [{"model.name": f"{model or ''} {shape}", VALUES: [each]} for shape, each in pairs]
    return [_with_status(flat | part) for part in parts]


def _with_status(record: Document) -> Document:
    """A status word, or an accuracy of 0 and 1, is the record's status instead of a value."""
    name, numbers, words = (record.get(key) for key in ("metric.name", VALUES, WORDS))
    status = None
    if name == "accuracy" and isinstance(numbers, list) and numbers:
        if all(number in (0, 1) for number in numbers):
            status = "pass" if all(numbers) else "fail_accuracy"
    elif name in ("accuracy", "status") and isinstance(words, list) and words:
        status = words[0]
    return record if status is None else record | {VALUES: None, "status": status}


def _machine(record: Mapping[str, Any], hints: Hints) -> Document:
    """GPU and name of the machine; benchmark.extra_info has the device where no runner has it."""
    device = str(record.get(f"{EXTRA}device") or "")
    gpu = record.get("runner.gpu_info")
    if not gpu and device.startswith(("cuda", "NVIDIA", "AMD")):
        gpu = record.get(f"{EXTRA}arch") or device
    name = record.get("runner.name") or record.get("runner.type")
    if gpu or (record.get("runner.cpu_info") and record.get("runner.cpu_count")):
        name = ""
    elif not (name or hints.machine):
        raise fields.Malformed("runners names no machine: give its key with the import (--machine)")
    return {"machine": name, "gpu": gpu, "kind": "cpu" if device == "cpu" else "gpu"}
