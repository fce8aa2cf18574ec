"""The result file: what one job measured. Contract: schema/result.v1.json."""

import json
import math
import os
import shlex
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from benchmarks_suite import __version__
from benchmarks_suite.harness import contract
from benchmarks_suite.harness.contract import Document
from benchmarks_suite.harness.job import Job, measure_fields
from benchmarks_suite.harness.outcome import CaseOutcome
from benchmarks_suite.harness.portable_text import portable, whole_sentences
from benchmarks_suite.harness.progress import announce


class Result:
    """Collects what a job measures, stage by stage, and makes the document of it.

    The measuring code fills it in through the methods below. A value that is not finite becomes
    ``absent`` with the reason, because JSON has no NaN and a chart has no place for it.
    """

    def __init__(self, job: Job) -> None:
        self.status, self.message, self.stage = "pass", "", "job"
        self.sections: Document = {}
        self.metrics: dict[str, Document] = {}
        self.absent: dict[str, str] = {}
        self.samples: dict[str, Document] = {}
        self.marks: list[dict[str, str]] = []
        self.arms: dict[str, dict[str, str]] = {}
        self.wall_s: dict[str, float] = {}
        self.error: dict[str, str] | None = None
        self.environment: Document = {}
        self.benchmark = job.benchmark.described()
        self._job = job
        self._started_at = _now()

    @contextmanager
    def in_stage(self, name: str) -> Iterator[None]:
        """Announces a stage, blames failures within the block on it, and adds its wall time."""
        self.stage = name
        announce(name)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.wall_s[name] = self.wall_s.get(name, 0.0) + time.perf_counter() - start

    def measured(
        self,
        key: str,
        value: float,
        low: float | None = None,
        high: float | None = None,
        n: int = 1,
    ) -> None:
        """A metric (a key of language/metrics.py) with its 95% interval, from ``n`` samples."""
        if not math.isfinite(value):
            self.missing(key, f"came out as {value}: not a finite number")
            return
        self.metrics[key] = {"value": value, "low": _finite(low), "high": _finite(high), "n": n}
        self.absent.pop(key, None)

    def missing(self, key: str, reason: str) -> None:
        """A metric that could not be measured, and why. The first reason stays."""
        if key not in self.metrics:
            self.absent.setdefault(key, whole_sentences(reason, 500))

    def mark(self, kind: str, detail: str) -> None:
        """Interference that was seen while measuring, or what the compiler did not do."""
        mark = {"kind": kind, "detail": detail[:500]}
        if mark not in self.marks:
            self.marks.append(mark)

    def failed(self, outcome: CaseOutcome, error: BaseException | None = None) -> None:
        """The case did not pass. The first such status stays."""
        if self.status != "pass":
            return
        self.status, self.message = outcome.status, outcome.message[:4000]
        if error is not None:
            self.error = described(error)

    def contents(self) -> Document:
        """Everything so far, for the process that started this one."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def merge(self, contents: Document) -> None:
        """Adds the contents of another process's result; single values replace those here."""
        for name, value in contents.items():
            own = getattr(self, name)
            if isinstance(own, dict):
                own.update(value)
            elif isinstance(own, list):
                own.extend(value)
            else:
                setattr(self, name, value)

    def document(self) -> Document:
        """The result as schema/result.v1.json describes it."""
        return {
            "schema": "result.v1",
            "job": self._job.document,
            "status": self.status,
            "message": self.message,
            "stage": self.stage,
            "started_at": self._started_at,
            "finished_at": _now(),
            "wall_s": {name: round(seconds, 4) for name, seconds in self.wall_s.items()},
            "suite_version": __version__,
            "benchmark": self.benchmark,
            "environment": self.environment,
            "metrics": self.metrics,
            "absent": self.absent,
            "samples": self.samples,
            "arms": self.arms,
            "marks": self.marks[:50],
            "error": self.error,
            "reproduce": reproduce_command(self._job.document),
            **self.sections,
        }


def write(document: Document, path: Path) -> None:
    """Checks ``document`` against the contract and puts it at ``path`` in one step.

    A reader sees all of it or nothing. Raises ContractError (our own mistake) or OSError (a full
    disk); then nothing is left at ``path``.
    """
    contract.check(document, "result.v1")
    body = json.dumps(document, allow_nan=False, ensure_ascii=False).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError:
        with suppress(OSError):
            partial.unlink()
        raise


def described(error: BaseException) -> dict[str, str]:
    """An exception as the result holds it: type, message, and the end of its traceback.

    Without local folders.
    """
    return {
        "type": type(error).__qualname__[:200],
        "message": portable(str(error))[:4000],
        "traceback": portable("".join(traceback.format_exception(error)))[-20000:],
    }


def reproduce_command(job: Document) -> str:
    """The command that repeats the job by hand on any machine that has the suite."""
    variant = job["variant"]
    words = [
        f"{name}={shlex.quote(value)}" for name, value in sorted(variant.get("env", {}).items())
    ]
    words.append("python -m benchmarks_suite run")
    for option in ("benchmark", "config", "device"):
        words += [f"--{option}", job[option]]
    for path in job.get("sources", []):
        words += ["--from", shlex.quote(path)]
    for key, value in sorted(variant.get("inductor", {}).items()):
        words += ["--inductor", shlex.quote(f"{key}={json.dumps(value)}")]
    rules = measure_fields()
    for key, value in job["measure"].items():
        if value == rules[key]["default"]:
            continue
        text = ",".join(value) if key == "starts" else json.dumps(value)
        words += [f"--{key.replace('_', '-')}", shlex.quote(text)]
    return " ".join(words)[:2000]


def _finite(value: float | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return value


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
