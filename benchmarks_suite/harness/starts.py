"""The starts of a case: cold, warm, restored; each in its own fresh process, by the one procedure of start.py."""

import json
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks_suite.harness import caches, ranks
from benchmarks_suite.harness.generated_code import ARTIFACT
from benchmarks_suite.harness.job import Job

KINDS = ("cold", "warm", "restored")
TIME_TO_WRITE_S = 15.0  # kept of the job's time limit, so that a start that never ends still leaves a result


@dataclass
class Starts:
    """Runs starts in ``folder``. base: None for a backend that needs no toolchain.

    artifacts: where the generated code of the cold start is kept; None: it is not.
    deadline: time.monotonic() at which a start that still runs is ended.
    """

    job: Job
    folder: Path
    artifacts: Path | None
    deadline: float

    def __post_init__(self) -> None:
        needs_toolchain = self.job.config.backend == "inductor"
        self.base = caches.base(self.job.device) if needs_toolchain else None
        self.caches = self._fresh_caches("cold")
        self._saved = self.folder / "saved-artifacts"

    def run(self, kind: str) -> dict[str, Any]:
        """Measures one start; returns what start.py answered, or what happened to it instead of an answer.

        cold must come first: warm runs on the caches that it leaves, restored on what it saved.
        """
        used = self._fresh_caches("restored") if kind == "restored" else self.caches
        cold = kind == "cold"
        if kind == "restored" and not (self._saved.exists() and self._saved.stat().st_size):
            return {
                "status": "unsupported",
                "message": "the cold start saved no artifacts; torch 2.7 or newer would, from a filled cache",
            }
        spec = {
            "job": self.job.document,
            "artifacts_in": str(self._saved) if kind == "restored" else None,
            "artifacts_out": str(self._saved) if cold and "restored" in self.job.measure.starts else None,
            "code_out": str(self.artifacts / ARTIFACT) if cold and self.artifacts else None,
        }
        return self._in_fresh_process(kind, spec, used)

    def _fresh_caches(self, name: str) -> caches.CompilerCaches:
        folder = self.folder / name
        return self.base.copied_to(folder) if self.base else caches.empty(folder)

    def _in_fresh_process(self, kind: str, spec: dict[str, Any], used: caches.CompilerCaches) -> dict[str, Any]:
        spec_file, answer_file = self.folder / f"{kind}.spec.json", self.folder / f"{kind}.answer.json"
        spec_file.write_text(json.dumps(spec))
        environment = {**caches.child_environment(), **used.environment}
        command = ranks.command(self.job, "benchmarks_suite.harness.start", str(spec_file), str(answer_file))
        limit_s = max(1.0, self.deadline - time.monotonic())
        try:
            code = subprocess.run(command, env=environment, cwd=self.folder, timeout=limit_s, check=False).returncode
        except subprocess.TimeoutExpired:
            return {
                "status": "timeout",
                "message": f"the {kind} start took more than {limit_s:.0f} s: raise timeout_s or autotune less",
            }
        if answer_file.exists():
            answer: dict[str, Any] = json.loads(answer_file.read_text())
            return answer
        return {
            "status": _status_of(code),
            "message": f"the {kind} start's process gave no answer: {_how(code)}; the log has its last words",
        }


def _status_of(code: int) -> str:
    return "oom" if code == -signal.SIGKILL else "crashed"


def _how(code: int) -> str:
    if code == -signal.SIGKILL:
        return "killed, most likely by the kernel because memory ran out"
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
