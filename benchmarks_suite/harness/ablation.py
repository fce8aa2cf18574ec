"""Which stage of the compiler fails or drifts: the same case with one stage more each time, each in
a fresh process.
"""

import gc
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks_suite.configs import ABLATION
from benchmarks_suite.harness import caches
from benchmarks_suite.harness.job import Job
from benchmarks_suite.harness.result import Result

LEAST_S = 10.0  # no process of the suite imports torch, builds and compiles in less
EXPLAINED = ("fail_to_compile", "fail_accuracy", "crashed")
_STAGES = {"dynamo_only": "dynamo", "aot_eager": "AOTAutograd", "inductor": "Inductor"}


def run(job: Job, result: Result, folder: Path, deadline: float) -> None:
    """Adds the ablation to a result that failed to compile or drifted: config -> status and
    message, and the stage.

    deadline: time.monotonic() by which it must be done; what there is no time for is not looked
        for.
    """
    if result.status not in EXPLAINED or not job.config.compiles:
        return
    _free_device()
    found: dict[str, Any] = {}
    for name in ABLATION:
        if name == job.config.name:
            found[name] = {"status": result.status, "message": result.message}
        else:
            found[name] = _measured(job, name, folder, deadline - time.monotonic())
        if found[name]["status"] != "pass":
            break
    stage = _stage(job, found)
    result.sections["ablation"] = {**found, "stage": stage}
    result.message = f"{result.message} [ablation: {stage}]"[-4000:]


def _stage(job: Job, found: dict[str, Any]) -> str:
    """The stage that is to blame: the first that is not right."""
    failing = next((name for name in found if found[name]["status"] != "pass"), None)
    if failing is None:
        return f"what {job.config.name} adds to inductor"
    return (
        "not found in the time that was left"
        if found[failing]["status"] == "timeout"
        else _STAGES[failing]
    )


def _free_device() -> None:
    """Gives back the device memory that this process keeps: the ablation's processes need it."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def _measured(job: Job, config: str, folder: Path, left_s: float) -> dict[str, str]:
    """Status and message of the case with another config: a job without starts, and next to no
    sampling.
    """
    if left_s < LEAST_S:
        return {"status": "timeout", "message": "not begun: the job's time limit is near"}
    measure = {
        **job.document["measure"],
        "starts": [],
        "budget_s": 0.001,
        "single_steps": 0,
        "keep_code": False,
    }
    document = {**job.document, "config": config, "measure": measure}
    job_file, result_file = (
        folder / f"ablation-{config}.json",
        folder / f"ablation-{config}.result.json",
    )
    job_file.write_text(json.dumps(document))
    command = [sys.executable, "-m", "benchmarks_suite", "run", str(job_file), str(result_file)]
    try:
        subprocess.run(command, env=caches.child_environment(), timeout=left_s, check=False)
    except subprocess.TimeoutExpired:
        return {"status": "timeout", "message": f"not done after {left_s:.0f} s"}
    if not result_file.exists():
        return {
            "status": "crashed",
            "message": "the process ended without a result; the log has its last words",
        }
    answer = json.loads(result_file.read_text())
    return {"status": answer["status"], "message": answer["message"]}
