"""The suite, run for one job in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from benchmarks_suite.harness import contract

MLP = "mlp.smoke.inference.float32.static.b64"
QUICK = {
    "budget_s": 0.2,
    "single_steps": 0,
    "loss_steps": 2,
    "starts": [],
}


def run(tmp_path: Path, module: str, **fields: Any) -> dict[str, Any]:
    """The result of a job, validated against the schema."""
    measure = QUICK | fields.pop("measure", {})
    environment = os.environ | fields.pop("environment", {})
    document = {
        "schema": "job.v1",
        "job_id": "test",
        "attempt": 1,
        "config": "dynamo_only",
        **fields,
        "measure": measure,
    }
    job_file, result_file = tmp_path / "job.json", tmp_path / "out" / "result.json"
    job_file.write_text(json.dumps(document))
    process = subprocess.run(
        [sys.executable, "-m", module, "run", str(job_file), str(result_file)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    result: dict[str, Any] = json.loads(result_file.read_text())
    Draft202012Validator(contract.schema("result.v1")).validate(result)
    return result
