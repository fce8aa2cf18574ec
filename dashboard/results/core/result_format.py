"""Reads what a worker delivers: bytes in, checked values out, or Refused with the precise reason.

The contract is benchmarks_suite/schema/result.v1.json, read as data. A delivery is
{"attempt": n, "outcome": {...}, "result": <result.v1> or null}: `DELIVERY` below.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

import jsonschema_rs
import numpy as np
import orjson

from dashboard.language.contracts import Document, Refused, check_schema, read_schema
from dashboard.results.core.untrusted import parse_json, unpack

Array = np.ndarray[tuple[int], np.dtype[Any]]
FLOATS, INTEGERS = "<f8", "<i4"
YEARS = (1990, 2100)  # a moment outside comes from a broken clock
LARGEST = 1e18  # of a number that was measured: squares and sums of it stay finite
OUTCOMES = ("pass", "crashed", "oom", "timeout", "fail_to_run", "cancelled")
DELIVERY = jsonschema_rs.Draft202012Validator(
    {
        "type": "object",
        "required": ["attempt", "outcome", "result"],
        "properties": {
            "attempt": {"type": "integer", "minimum": 1},
            "outcome": {
                "type": "object",
                "required": ["status"],
                "properties": {
                    "status": {"enum": list(OUTCOMES)},
                    "message": {"type": "string", "maxLength": 4000},
                    "exit_code": {"type": ["integer", "null"]},
                    "signal": {"type": ["integer", "string", "null"]},
                    "wall_s": {"type": ["number", "null"], "minimum": 0},
                    "log_tail": {"type": "string", "maxLength": 65536},
                },
            },
            "result": {"type": ["object", "null"]},
        },
    }
)


@dataclass(frozen=True, slots=True)
class Measurement:
    """One metric's value with its 95% interval; `count` samples made it."""

    value: float
    low: float | None
    high: float | None
    count: int


@dataclass(frozen=True, slots=True)
class ArmSamples:
    """Raw samples of one arm, each array of shape (samples,).

    values: milliseconds per step, float64; cpu_ms: the same in CPU time, or None; order: place of
    each sample in the interleaved sequence, int32, or None. inner: steps in one sample.
    """

    name: str
    unit: str
    inner: int
    values: Array
    cpu_ms: Array | None
    order: Array | None


@dataclass(frozen=True, slots=True)
class ResultDocument:
    """A checked result.v1. `document` is all of it but the samples, ready to be stored as JSON.

    planned_at: from the job file, where it says so, else when the job started.
    """

    job: Document
    status: str
    message: str
    planned_at: datetime
    started_at: datetime
    finished_at: datetime
    suite_version: str
    benchmark: Document
    environment: Document
    metrics: Mapping[str, Measurement]
    arms: tuple[ArmSamples, ...]
    document: Document

    @property
    def device(self) -> str:
        """The device of its machine: the GPU's UUID, else the host's name, else empty."""
        machine = self.environment["machine"]
        return str(machine.get("device_id") or machine.get("host") or "")


@dataclass(frozen=True, slots=True)
class ProcessOutcome:
    """Outcome of the suite's process, as the worker saw it from outside."""

    status: str
    message: str
    log_tail: str
    document: Document


@dataclass(frozen=True, slots=True)
class JobDelivery:
    """Report that a worker posts for one attempt of one job."""

    attempt: int
    outcome: ProcessOutcome
    result: ResultDocument | None


def parse_delivery(body: bytes) -> JobDelivery:
    """Check and read an unpacked delivery. Raises Refused."""
    delivery = parse_json(body)
    check_schema(delivery, DELIVERY, "delivery")
    outcome = delivery["outcome"]
    status, result = outcome["status"], delivery["result"]
    if status == "pass" and result is None:
        raise Refused("outcome.status is pass, and there is no result")
    return JobDelivery(
        attempt=delivery["attempt"],
        outcome=ProcessOutcome(
            status=status,
            message=outcome.get("message", ""),
            log_tail=outcome.get("log_tail", ""),
            document=outcome,
        ),
        result=None if result is None else parse_result(result),
    )


def attempt_of(body: bytes, limit: int) -> int | None:
    """The attempt that a delivery says it is of, whatever else is wrong with it; None: it is not
    known.
    """
    try:
        delivery = parse_json(unpack(body, limit))
    except Refused:
        return None
    attempt = delivery.get("attempt") if isinstance(delivery, dict) else None
    return attempt if type(attempt) is int else None  # true is an int as well


def parse_result(document: Any) -> ResultDocument:
    """Check and read a decoded result.v1. Raises Refused."""
    check_schema(document, _result_validator(), "result")
    check_schema(document["job"], _job_identity_validator(), "result.job")
    stored = {key: value for key, value in document.items() if key != "samples"}
    check_depth(stored)
    job = document["job"]
    planned_at = job.get("planned_at") or document["started_at"]
    return ResultDocument(
        job=job,
        status=document["status"],
        message=document["message"],
        planned_at=_moment(planned_at, "job.planned_at"),
        started_at=_moment(document["started_at"], "started_at"),
        finished_at=_moment(document["finished_at"], "finished_at"),
        suite_version=document["suite_version"],
        benchmark=document["benchmark"],
        environment=document["environment"],
        metrics={key: _measurement(key, metric) for key, metric in document["metrics"].items()},
        arms=tuple(_arm(name, arm) for name, arm in document["samples"].items()),
        document=stored,
    )


def check_depth(document: Document) -> None:
    """Raise Refused for a document that is nested too deep to be written as JSON (254 levels)."""
    try:
        orjson.dumps(document)
    except TypeError as error:
        raise Refused(f"result: {error}") from None


def pack_samples(values: Array) -> bytes:
    """Compress an array as it lies in memory (little-endian), zlib."""
    return zlib.compress(values.tobytes(), level=1)


def unpack_samples(packed: bytes, kind: str = FLOATS) -> Array:
    """The array that `pack_samples` was given."""
    return np.frombuffer(zlib.decompress(packed), dtype=kind)


def _measurement(key: str, metric: Document) -> Measurement:
    low, high = _float_or_none(metric.get("low")), _float_or_none(metric.get("high"))
    if low is not None and high is not None and low > high:
        raise Refused(f"result.metrics.{key}: its interval ends ({high}) before it begins ({low})")
    value = float(metric["value"])
    if max(abs(number) for number in (value, low, high) if number is not None) > LARGEST:
        raise Refused(f"result.metrics.{key}: a number is beyond {LARGEST:.0e}, which nothing is")
    return Measurement(value, low, high, int(metric.get("n", 0)))


def _float_or_none(number: float | None) -> float | None:
    return None if number is None else float(number)


def _arm(name: str, arm: Document) -> ArmSamples:
    path, count = f"result.samples.{name}", len(arm["values"])
    for key in ("cpu_ms", "order"):
        if key in arm and len(arm[key]) != count:
            raise Refused(f"{path}.{key} has {len(arm[key])} entries, values has {count}")
    return ArmSamples(
        name=name,
        unit=arm["unit"],
        inner=int(arm.get("inner", 1)),
        values=_array(arm["values"], FLOATS, f"{path}.values"),
        cpu_ms=_optional_array(arm, "cpu_ms", FLOATS, path),
        order=_optional_array(arm, "order", INTEGERS, path),
    )


def _optional_array(arm: Document, key: str, kind: str, path: str) -> Array | None:
    if key not in arm:
        return None
    return _array(arm[key], kind, f"{path}.{key}")


def _array(numbers: Sequence[float], kind: str, path: str) -> Array:
    try:
        array = np.asarray(numbers, dtype=kind)
    except OverflowError:
        raise Refused(f"{path}: a number is too large") from None
    if array.size and max(array.max(), -array.min()) > LARGEST:
        raise Refused(f"{path}: a number is beyond {LARGEST:.0e}, which nothing is")
    return array


def _moment(text: str, path: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:  # a leap second, for one
        raise Refused(f"result.{path}: {text}: {error}") from None
    if moment.tzinfo is None or not YEARS[0] <= moment.year <= YEARS[1]:
        raise Refused(
            f"result.{path}: {text} has no time zone, or lies outside the years {YEARS[0]} to "
            f"{YEARS[1]}"
        )
    return moment


@cache
def _result_validator() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(read_schema("result.v1.json"), validate_formats=True)


@cache
def _job_identity_validator() -> jsonschema_rs.Draft202012Validator:
    """The fields of a result's job that the site reads; the others may be of a newer suite."""
    properties = read_schema("job.v1.json")["properties"]
    names = ("job_id", "attempt", "benchmark", "config", "build", "planned_at")
    schema = {"properties": {name: properties[name] for name in names}}
    return jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
