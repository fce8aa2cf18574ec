"""The CSV files of PyTorch's benchmarks/dynamo runners: one row a model, performance or accuracy.

The file's name says how it was run, as their CI writes it:
CONFIG_SUITE_DTYPE_MODE_DEVICE_performance.csv.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from dashboard.results.formats import fields, mapped
from dashboard.results.formats.common import Document, ForeignMeasurement, Hints, ParsedFile
from dashboard.results.formats.mapping import Table
from dashboard.results.formats.records import changed, csv_records
from dashboard.results.formats.tables import RUNNER_RULES

TABLE = Table(
    RUNNER_RULES,
    {
        "tool": "benchmarks/dynamo",
        "benchmark": "{name}",
        "family": "{suite}",
        "suite": "{suite}",
        "config": "{config}",
        "mode": "{mode}",
        "dtype": "{dtype}",
        "batch_size": "{batch_size}",
        "gpu": "{gpu}",
        "cpu": "{cpu}",
        "status": "{accuracy}",
        "message": "{message}",
    },
    title="CSV of PyTorch's benchmarks/dynamo",
    parameters=("variant",),
    settings={"suite": "{suite}"},
    repeats=True,
)
NEEDED = {"name", "batch_size"}
NEWLINE = b"\n"
NAME = re.compile(
    r"(?P<config>.+?)[_-](?P<suite>torchbench|huggingface|timm_models|timm)[_-]"
    r"(?P<dtype>(?:amp_)?[a-z0-9]+)[_-](?P<mode>training|inference)[_-]"
    r"(?P<device>cuda|cpu|xpu|rocm)(?:[_-](?P<variant>[a-z0-9_-]+?))??"
    r"[_-](?P<kind>performance|accuracy)(?:[_-][a-z0-9_-]+)?\.csv(?:\.gz)?$"
)
CACHED_SHARE = 0.25  # of the longest compile of the same case in a file: what took less was cached


def matches(body: bytes) -> bool:
    """Test whether the first line is the header of such a file."""
    header = body.split(NEWLINE, 1)[0].decode(errors="replace").strip().split(",")
    return set(header) >= NEEDED and ("accuracy" in header or "speedup" in header)


def read(name: str, body: bytes, hints: Hints) -> ParsedFile:
    """The file's rows; one that cannot be used is refused with its line."""
    run = NAME.search(name.rsplit("/", 1)[-1])
    file = ParsedFile(TABLE.title)
    if run is None:
        file.refuse(
            name,
            "the file's name does not say how it was run: name it "
            "CONFIG_SUITE_DTYPE_MODE_DEVICE_performance.csv, such as "
            "inductor_torchbench_amp_training_cuda_performance.csv",
        )
        return file
    needed = ((hints.build, "build"), (hints.at, "at"), (hints.machine, "machine"))
    missing = [f"--{option}" for value, option in needed if not value]
    if missing:
        file.refuse(name, f"such a file lacks what these options say: {', '.join(missing)}")
        return file

    ended, _, cut = body.rpartition(NEWLINE)
    rows = csv_records(name, ended.decode(errors="replace"))
    records = changed(rows, lambda row: [_record(row, run.groupdict(), hints)])
    file = mapped.read(records, TABLE, replace(hints, config=""))
    if cut:
        file.refuse(f"{name}, line {ended.count(NEWLINE) + 2}", "it has no end: the file was cut")
    _part_cached(file.cases)
    return file


def _record(row: Document, run: Document, hints: Hints) -> Document:
    """A row with what the file's name says; of a model that was not timed, no numbers."""
    on_gpu = run["device"] != "cpu"
    record = {
        **run,
        "kind": "gpu" if on_gpu else "cpu",
        "gpu": hints.machine if on_gpu else "",
        "cpu": hints.machine,
        "name": row["name"],
        "batch_size": row["batch_size"],
    }
    if "accuracy" in row:
        word = fields.text(row["accuracy"], "accuracy")
        return {**record, "accuracy": word, "message": f"benchmarks/dynamo said {word}"}
    times = [fields.number(row.get(column) or 0, column) for column in ("speedup", "abs_latency")]
    if not any(times):
        message = "benchmarks/dynamo wrote no time for it"
        return {**record, "accuracy": "fail_to_run", "message": message}
    return {**row, **record}


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
