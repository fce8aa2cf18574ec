"""The starts of a case: cold, warm, restored, cold again, counted, startup, diagnostic.

Each has its own process and follows the one procedure of start.py; the counted one, whose time
nobody reads, has its own (counted_start.py), and so have startup, whose time begins with the
process (startup.py), and the diagnostic one, which is no part of KINDS because it comes after all
else (diagnostic_start.py). The process is forked from the job's, which has only imported; for
ranks, for startup, for the diagnostic one, and where the job's is not fit to be forked, it is one
that imports by itself. Each answer says which way it was: ``process``, and ``why_fresh``.
"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from benchmarks_suite.harness import (
    caches,
    call_counts,
    diagnostic_start,
    forks,
    generated_code,
    progress,
    ranks,
    records,
    start,
    startup,
    warm_imports,
)
from benchmarks_suite.harness.contract import Document
from benchmarks_suite.harness.job import Job

KINDS = ("cold", "warm", "restored", "cold_again", "counted", *startup.KINDS)
# Kept of the job's time limit, so that a start that never ends still leaves a result
TIME_TO_WRITE_S = 15.0
_LAST_WORDS = 4000  # bytes of a diagnostic start's log that the job's log has, too
_Run = Callable[[Path, Path, dict[str, str], float], int]  # spec, answer, environment, limit


def in_order(requested: Collection[str]) -> tuple[str, ...]:
    """The starts to run: those requested, and the cold one, which all but the counted one need.

    A counted start alone may run next to other work, because nobody reads its time.
    """
    kinds = set(requested)
    if kinds - {"counted"}:
        kinds.add("cold")
    return tuple(kind for kind in KINDS if kind in kinds)


@dataclass
class Starts:
    """Runs starts in ``folder``. base: None for a backend that needs no toolchain.

    artifacts: where the generated code of the cold start, and the calls of the counted one, are
        kept; None: they are not.
    deadline: time.monotonic() at which a start that still runs is ended.
    """

    job: Job
    folder: Path
    artifacts: Path | None
    deadline: float

    def __post_init__(self) -> None:
        self.base: caches.Base | None = None
        if warm_imports.needs_toolchain(self.job):
            self.base = caches.base(self.job.device, warm_imports.wrapper(self.job))
        self._saved = self.folder / "saved-artifacts"

    @cached_property
    def cold_caches(self) -> caches.CompilerCaches:
        """Caches of the cold start, and of whatever begins with what it left."""
        return self._fresh_caches("cold")

    def run(self, kind: str) -> Document:
        """Measures one start; returns start.py's answer, or what happened instead of an answer.

        cold must come first: warm runs on the caches that it leaves, restored on what it saved.
        cold_again is the same as cold on other fresh caches: whether it generates the same code
        says whether the fingerprints mean anything.
        """
        if kind == "restored" and not (self._saved.exists() and self._saved.stat().st_size):
            message = (
                "the cold start saved no artifacts; torch 2.7 or newer would, from a filled cache"
            )
            return {"status": "unsupported", "message": message}
        spec: Document = {}
        if kind == "restored":
            spec["artifacts_in"] = str(self._saved)
        if kind == "cold" and "restored" in self.job.measure.starts:
            spec["artifacts_out"] = str(self._saved)
        if kind == "cold" and self.artifacts:
            spec["code_out"] = str(self.artifacts / generated_code.ARTIFACT)
        if kind == "counted" and self.artifacts:
            spec["calls_out"] = str(self.artifacts / call_counts.ARTIFACT)
        return self._in_own_process(kind, spec, self._caches_for(kind))

    def _caches_for(self, kind: str) -> caches.CompilerCaches:
        if kind in ("cold", "warm", "startup_warm"):
            return self.cold_caches
        if kind == "startup_cold":
            return caches.empty(self.folder / kind)
        return self._fresh_caches(kind)

    def _fresh_caches(self, name: str) -> caches.CompilerCaches:
        folder = self.folder / name
        return self.base.copied_to(folder) if self.base else caches.empty(folder)

    def diagnose(self) -> Document:
        """The diagnostic start; what it recorded is kept, also where it failed or did not end."""
        if self.artifacts is None:
            message = "nothing is kept of it: write a result file, with measure.keep_code"
            return {"status": "unsupported", "message": message}
        kind = diagnostic_start.KIND
        used = self._fresh_caches(kind)
        traces, log = self.folder / "traces", self.folder / "compiler.log"
        environment = {**used.environment, "TORCH_TRACE": str(traces)}
        answer = self._answered(kind, {}, partial(self._fresh, log=log), environment)
        if answer["status"] != "pass":
            progress.note(records.last_words(log, _LAST_WORDS))
        files = records.keep(traces, log, self.artifacts)
        no_trace = answer.pop("no_trace", diagnostic_start.NOTHING_COMPILED)
        if not any(file["artifact"] == records.TRACE for file in files.values()):
            answer["no_trace"] = no_trace
        way = {"process": "fresh", "why_fresh": diagnostic_start.WHY_FRESH}
        return {**answer, **way, "files": files}

    def _in_own_process(self, kind: str, spec: Document, used: caches.CompilerCaches) -> Document:
        why_fresh = forks.why_unfit()
        if ranks.spans_processes(self.job):
            why_fresh = "it spans several processes"
        if kind in startup.KINDS:
            why_fresh = "its imports are part of it"
        way: Document
        run: _Run
        if why_fresh:
            way, run = {"process": "fresh", "why_fresh": why_fresh}, self._fresh
        else:
            way, run = {"process": "forked"}, self._forked
        return {**self._answered(kind, spec, run, used.environment), **way}

    def _answered(
        self, kind: str, spec: Document, run: _Run, environment: dict[str, str]
    ) -> Document:
        """The answer of a start's process, or what happened instead of an answer."""
        spec_file = self.folder / f"{kind}.spec.json"
        spec_file.write_text(json.dumps({"job": self.job.document, "kind": kind, **spec}))
        answer_file = self.folder / f"{kind}.answer.json"
        limit_s = max(1.0, self.deadline - time.monotonic())
        if kind == "counted":  # what is measured after it needs time, too
            limit_s /= 2
        try:
            code = run(spec_file, answer_file, environment, limit_s)
        except TimeoutError:
            message = (
                f"the {kind} start took more than {limit_s:.0f} s: raise timeout_s (of the "
                "machine on the site, --timeout-s here) or autotune less"
            )
            return {"status": "timeout", "message": message}
        if answer_file.exists():
            answer: Document = json.loads(answer_file.read_text())
            return answer
        message = (
            f"the {kind} start's process gave no answer: {_how(code)}; the log has its last words"
        )
        status = "oom" if code == -signal.SIGKILL else "crashed"
        return {"status": status, "message": message}

    def _forked(
        self, spec_file: Path, answer_file: Path, environment: dict[str, str], limit_s: float
    ) -> int:
        def work() -> None:
            os.chdir(self.folder)
            os.environ.update(environment)  # torch and Triton read these when they use their caches
            start.answer(spec_file, answer_file)

        return forks.run(work, limit_s)

    def _fresh(
        self,
        spec_file: Path,
        answer_file: Path,
        environment: dict[str, str],
        limit_s: float,
        log: Path | None = None,
    ) -> int:
        """log: where its standard error goes; None: to this process's."""
        module = "benchmarks_suite.harness.start"
        command = ranks.command(self.job, module, str(spec_file), str(answer_file))
        variables = {**caches.child_environment(), **environment}
        with ExitStack() as opened:
            errors = opened.enter_context(log.open("wb")) if log else None
            try:
                ended = subprocess.run(
                    command,
                    env=variables,
                    cwd=self.folder,
                    timeout=limit_s,
                    check=False,
                    stderr=errors,
                )
            except subprocess.TimeoutExpired as error:
                raise TimeoutError from error
        return ended.returncode


def _how(code: int) -> str:
    if code == -signal.SIGKILL:
        return "killed, most likely by the kernel because memory ran out"
    if code < 0:
        return f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"
