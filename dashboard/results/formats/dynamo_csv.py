"""The CSV files of PyTorch's benchmarks/dynamo runners: one row a model, performance or accuracy.

The file's name says how it was run, as their CI writes it:
CONFIG_SUITE_DTYPE_MODE_DEVICE_performance.csv.
"""

import csv
import io
import re
from collections.abc import Mapping

from dashboard.results.formats import fields
from dashboard.results.formats.common import STATUSES, ForeignMeasurement, Hints, ParsedFile
from dashboard.results.formats.naming import our_metric

TOOL = "benchmarks/dynamo"
NEEDED = {"name", "batch_size"}
NAME = re.compile(
    r"(?P<config>.+?)_(?P<suite>torchbench|huggingface|timm_models|timm)_(?P<dtype>[a-z0-9]+)_"
    r"(?P<mode>training|inference)_(?P<device>cuda|cpu|xpu|rocm)(?:_[a-z0-9_]+?)??_(?P<kind>performance|accuracy)"
    r"(?:_[a-z0-9_]+)?\.csv(?:\.gz)?$"
)
MOST_ROWS, MOST_FIELD = 100_000, 10_000
NEWLINE = b"\n"


def matches(body: bytes) -> bool:
    """Whether the first line is the header of such a file."""
    header = body.split(b"\n", 1)[0].decode(errors="replace").strip().split(",")
    return set(header) >= NEEDED and ("accuracy" in header or "speedup" in header)


def read(name: str, body: bytes, hints: Hints) -> ParsedFile:
    """The file's rows; one that cannot be used is refused with its line."""
    found = ParsedFile("CSV of PyTorch's benchmarks/dynamo")
    run = NAME.search(name.rsplit("/", 1)[-1])
    if run is None:
        why = (
            "the file's name does not say how it was run: name it "
            "CONFIG_SUITE_DTYPE_MODE_DEVICE_performance.csv, "
        )
        found.refuse(name, f"{why}such as inductor_torchbench_amp_training_cuda_performance.csv")
        return found
    if missing := [
        option
        for option, value in (("the build", hints.build), ("the time", hints.at))
        if not value
    ]:
        why = f"such a file does not name {' or '.join(missing)}: give them with the import"
        found.refuse(name, why)
        return found
    ended, _, cut = body.rpartition(NEWLINE)
    if cut:
        why = "it has no end: the file was cut"
        found.refuse(f"{name}, line {ended.count(NEWLINE) + 2}", why)
    try:
        rows = csv.DictReader(io.StringIO(ended.decode()), strict=True)
        for row in rows:
            if rows.line_num > MOST_ROWS:
                found.refuse(
                    f"{name}, line {rows.line_num}", f"more than {MOST_ROWS} lines: split it"
                )
                break
            _add(found, f"{name}, line {rows.line_num}", row, run, hints)
    except (csv.Error, UnicodeDecodeError) as error:
        found.refuse(name, f"it is not a CSV file in UTF-8: {error}")
    return found


def _add(
    found: ParsedFile, where: str, row: Mapping[str, str], run: re.Match[str], hints: Hints
) -> None:
    with found.part(where):
        if None in row or None in row.values():
            raise fields.Malformed(
                "it has another number of fields than the first line: was the file cut?"
            )
        if any(len(value) > MOST_FIELD for value in row.values()):
            raise fields.Malformed(f"a field is longer than {MOST_FIELD} characters")
        case = _case(where, row, run, hints)
        _fill(case, row, hints, found)
        found.add(case)


def _case(
    where: str, row: Mapping[str, str], run: re.Match[str], hints: Hints
) -> ForeignMeasurement:
    assert hints.at is not None  # asked for before
    on_gpu = run["device"] != "cpu"
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
        fields.whole(row["batch_size"], "batch_size") if row["batch_size"] != "0" else 1,
        gpu=(hints.machine or run["device"]) if on_gpu else None,
        cpu=hints.machine or "unknown CPU",
        settings={"suite": run["suite"]},
    )


def _fill(
    case: ForeignMeasurement, row: Mapping[str, str], hints: Hints, found: ParsedFile
) -> None:
    """The metrics of the row, or the status word of an accuracy file."""
    if "accuracy" in row:
        told = row["accuracy"]
        if told not in STATUSES:
            raise fields.Malformed(f"accuracy is {told!r}: expected {', '.join(STATUSES)}")
        case.status = STATUSES[told]
        case.message = "" if case.status == "pass" else f"{TOOL} said {told}"
        return
    for name, value in row.items():
        if name in {"dev", "name", "batch_size"}:
            continue
        if entry := our_metric(name, fields.number(value, name), hints):
            case.metrics[entry[0]] = entry[1]
        else:
            found.left_out[name] += 1
    if "latency_ms" not in case.metrics and "speedup" not in case.metrics:
        case.status, case.message, case.metrics = "fail_to_run", f"{TOOL} wrote no time for it", {}
