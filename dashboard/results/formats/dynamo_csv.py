"""The CSV files of PyTorch's benchmarks/dynamo runners: one row a model, performance or accuracy.

The file's name says how it was run, as their CI writes it:
CONFIG_SUITE_DTYPE_MODE_DEVICE_performance.csv.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from dashboard.results.formats import fields
from dashboard.results.formats.common import STATUSES, ForeignMeasurement, Hints, ParsedFile
from dashboard.results.formats.mapping import MOST_RECORDS
from dashboard.results.formats.naming import our_metric
from dashboard.results.formats.records import csv_records

TOOL = "benchmarks/dynamo"
NEEDED = {"name", "batch_size"}
NAME = re.compile(
    r"(?P<config>.+?)[_-](?P<suite>torchbench|huggingface|timm_models|timm)[_-]"
    r"(?P<dtype>(?:amp_)?[a-z0-9]+)[_-](?P<mode>training|inference)[_-]"
    r"(?P<device>cuda|cpu|xpu|rocm)(?:[_-](?P<variant>[a-z0-9_-]+?))??"
    r"[_-](?P<kind>performance|accuracy)(?:[_-][a-z0-9_-]+)?\.csv(?:\.gz)?$"
)
NEWLINE = b"\n"
CACHED_SHARE = 0.25  # of the longest compile of the same case in a file: what took less was cached


def matches(body: bytes) -> bool:
    """Test whether the first line is the header of such a file."""
    header = body.split(NEWLINE, 1)[0].decode(errors="replace").strip().split(",")
    return set(header) >= NEEDED and ("accuracy" in header or "speedup" in header)


def read(name: str, body: bytes, hints: Hints) -> ParsedFile:
    """The file's rows; one that cannot be used is refused with its line."""
    file = ParsedFile("CSV of PyTorch's benchmarks/dynamo", repeats=True)
    run = NAME.search(name.rsplit("/", 1)[-1])
    if run is None:
        file.refuse(
            name,
            "the file's name does not say how it was run: name it "
            "CONFIG_SUITE_DTYPE_MODE_DEVICE_performance.csv, such as "
            "inductor_torchbench_amp_training_cuda_performance.csv",
        )
        return file
    missing = []
    if not hints.build:
        missing.append("the build (--build)")
    if not hints.at:
        missing.append("the time (--at)")
    if missing:
        why = f"such a file does not name {' or '.join(missing)}: give them with the import"
        file.refuse(name, why)
        return file

    ended, _, cut = body.rpartition(NEWLINE)
    if cut:
        last_line = ended.count(NEWLINE) + 2
        file.refuse(f"{name}, line {last_line}", "it has no end: the file was cut")
    rows = csv_records(name, ended.decode(errors="replace"))
    for where, row in islice(rows, MOST_RECORDS):
        with file.part(where):
            if isinstance(row, fields.Malformed):
                raise row
            case = _case(where, row, run, hints)
            _fill(case, row, hints, file)
            file.cases.append(case)
    if next(rows, None):
        file.refuse(name, f"more than {MOST_RECORDS} lines: split it")
    _part_cached(file.cases)
    return file


def _part_cached(cases: Iterable[ForeignMeasurement]) -> None:
    """Give repeats that found their code in a cache a config and a start of their own."""
    longest: dict[tuple[Any, ...], float] = defaultdict(float)
    for case in cases:
        if start := case.metrics.get("cold_start_s"):
            longest[case.identity] = max(longest[case.identity], start.value)
    for case in cases:
        start = case.metrics.get("cold_start_s")
        if start and start.value < longest[case.identity] * CACHED_SHARE:
            case.metrics["warm_start_s"] = case.metrics.pop("cold_start_s")
            case.config = f"{case.config}_cached"


def _case(
    where: str, row: Mapping[str, str], run: re.Match[str], hints: Hints
) -> ForeignMeasurement:
    assert hints.at is not None  # read() refuses the file otherwise
    on_gpu = run["device"] != "cpu"
    batch_size = row["batch_size"] if row["batch_size"] != "0" else 1
    return ForeignMeasurement(
        where,
        TOOL,
        fields.text(row["name"], "name"),
        run["suite"],
        hints.build,
        hints.at,
        run["config"],
        run["mode"],
        run["dtype"],
        fields.whole(batch_size, "batch_size"),
        gpu=(hints.machine or run["device"]) if on_gpu else None,
        cpu=hints.machine or "unknown CPU",
        suite=run["suite"],
        parameters={"variant": run["variant"]} if run["variant"] else {},
        settings={"suite": run["suite"]},
    )


def _fill(case: ForeignMeasurement, row: Mapping[str, str], hints: Hints, file: ParsedFile) -> None:
    """The metrics of the row, or the status word of an accuracy file."""
    if "accuracy" in row:
        accuracy = row["accuracy"]
        if accuracy not in STATUSES:
            raise fields.Malformed(f"accuracy is {accuracy!r}: expected {', '.join(STATUSES)}")
        case.status = STATUSES[accuracy]
        if case.status != "pass":
            case.message = f"{TOOL} said {accuracy}"
        return
    for name, value in row.items():
        if name in {"dev", "name", "batch_size"}:
            continue
        entry = our_metric(name, fields.number(value, name), hints, on_cpu=not case.gpu)
        if entry is None:
            file.left_out[name] += 1
        else:
            key, metric = entry
            file.add_metric(case, case.where, name, key, metric)
    if "latency_ms" not in case.metrics and "speedup" not in case.metrics:
        case.status, case.message, case.metrics = "fail_to_run", f"{TOOL} wrote no time for it", {}
