"""A suite whose jobs take a fraction of a second.

    python chaos_suite.py LEDGER run JOB_FILE RESULT_FILE

Standard library only. It writes valid results whose values depend only on the case, except for the
build under test: a variant fails the accuracy of one model, so that the system has something to
find. Every attempt that it measures is a line of LEDGER, by which the chaos test knows what was
measured whatever the site says.
"""

import json
import random
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

SPOILED = "gpt2"  # the model that a variant fails
NAP_S = (0.1, 0.4)


def result_of(job: dict[str, Any]) -> dict[str, Any]:
    """A result.v1 for this job."""
    model, size, mode, dtype, shapes, batch = job["benchmark"].split(".")
    case = f"{job['benchmark']} {job['config']}"
    passed = not (model == SPOILED and job.get("variant"))
    level = random.Random(case).uniform(1, 50)
    latency = level * random.Random(case + job["job_id"]).gauss(1, 0.004)
    values = {"latency_ms": latency, "peak_memory_gb": 0.25, "passed": float(passed)}
    metrics = {}
    for key, value in values.items():
        metrics[key] = {"value": value, "low": value * 0.999, "high": value * 1.001}
    now = datetime.now(UTC).isoformat()
    return {
        "schema": "result.v1",
        "job": job,
        "status": "pass" if passed else "fail_accuracy",
        "message": "" if passed else "The outputs drift: spoiled on purpose.",
        "started_at": now,
        "finished_at": now,
        "suite_version": "0.1.0",
        "benchmark": {
            "name": job["benchmark"],
            "model": model,
            "family": "chaos",
            "size": size,
            "mode": mode,
            "dtype": dtype,
            "shapes": shapes,
            "batch_size": int(batch[1:]),
            "version": 1,
        },
        "environment": {
            "fingerprint": "00000000c4a05000",
            "torch": {"version": "2.13.0"},
            "python": "3",
            "libraries": {},
            "machine": {"cpu": "any", "cores": 1, "memory_gb": 1.0},
            "settings": {},
        },
        "metrics": metrics,
        "absent": {},
        "samples": {"compiled": {"unit": "ms", "inner": 1, "values": [latency] * 20}},
    }


def main(ledger: str, _: str, job_file: str, result_file: str) -> None:
    job = json.loads(Path(job_file).read_text())
    sys.stderr.write("phase: sampling\n")
    time.sleep(random.uniform(*NAP_S))
    with Path(ledger).open("a") as file:
        file.write(f"{job['job_id']} {job['attempt']}\n")
    Path(result_file).write_text(json.dumps(result_of(job)))


if __name__ == "__main__":
    main(*sys.argv[1:])
