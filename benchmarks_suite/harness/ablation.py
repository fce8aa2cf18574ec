"""Search for the stage of the compiler that fails or drifts.

The same case is run with one stage more each time, each in a fresh process.
"""

import gc
import json
import subprocess
import sys
import time
from pathlib import Path

from benchmarks_suite.configs import ABLATION
from benchmarks_suite.harness import caches
from benchmarks_suite.harness.contract import Document
from benchmarks_suite.harness.job import Job
from benchmarks_suite.harness.result import Result

LEAST_S = 10.0  # no process of the suite imports torch, builds and compiles in less
EXPLAINED = ("fail_to_compile", "fail_accuracy", "crashed")
_STAGES = {"dynamo_only": "dynamo", "aot_eager": "AOTAutograd", "inductor": "Inductor"}
_ALMOST_NO_SAMPLING = {"starts": [], "budget_s": 0.001, "single_steps": 0, "keep_code": False}


def run(job: Job, result: Result, folder: Path, deadline: float) -> None:
    """Adds the ablation to a result that failed to compile or drifted.

    It is config -> status and message, and the stage.
    deadline: time.monotonic() by which it must be done; what there is no time for is left out.
    """
    if result.status not in EXPLAINED or not job.config.compiles:
        return
    free_device()
    outcomes: dict[str, dict[str, str]] = {}
    for name in ABLATION:
        if name == job.config.name:
            outcomes[name] = {"status": result.status, "message": result.message}
        else:
            outcomes[name] = _measured(job, name, folder, deadline - time.monotonic())
        if outcomes[name]["status"] != "pass":
            break
    stage = _stage(job, outcomes)
    result.sections["ablation"] = {**outcomes, "stage": stage}
    result.message = f"{result.message} [ablation: {stage}]"[-4000:]


def _stage(job: Job, outcomes: dict[str, dict[str, str]]) -> str:
    """The stage that is to blame: the first that is not right."""
    for config, outcome in outcomes.items():
        if outcome["status"] == "timeout":
            return "not found in the time that was left"
        if outcome["status"] != "pass":
            return _STAGES[config]
    return f"what {job.config.name} adds to inductor"


def free_device() -> None:
    """Gives back the device memory that this process keeps: the ablation's processes need it."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def _measured(job: Job, config: str, folder: Path, left_s: float) -> dict[str, str]:
    """Status and message of the case with another config, without starts and nearly no samples."""
    if left_s < LEAST_S:
        return {"status": "timeout", "message": "not begun: the job's time limit is near"}
    measure = {**job.document["measure"], **_ALMOST_NO_SAMPLING}
    document = {**job.document, "config": config, "measure": measure}
    try:
        result = run_apart(document, folder / f"ablation-{config}", left_s)
    except subprocess.TimeoutExpired:
        return {"status": "timeout", "message": f"not done after {left_s:.0f} s"}
    if result is None:
        message = "the process ended without a result; the log has its last words"
        return {"status": "crashed", "message": message}
    return {"status": result["status"], "message": result["message"]}


def run_apart(job: Document, folder: Path, limit_s: float | None = None) -> Document | None:
    """The result of a job document in a fresh process; None where it left none.

    Raises subprocess.TimeoutExpired.
    """
    folder.mkdir()
    job_file, result_file = folder / "job.json", folder / "result.json"
    job_file.write_text(json.dumps(job))
    command = [sys.executable, "-m", "benchmarks_suite", "run", str(job_file), str(result_file)]
    subprocess.run(command, env=caches.child_environment(), timeout=limit_s, check=False)
    if not result_file.exists():
        return None
    result: Document = json.loads(result_file.read_text())
    return result
