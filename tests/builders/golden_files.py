"""Rewrites tests/data/golden with the real suite: ``python -m tests.builders.golden_files``.

The dashboard's reader, the two schemas and the suite's writer agree on these files; run it when the
contract changes. It takes two minutes.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
QUICK = {"budget_s": 1, "single_steps": 200, "loss_steps": 2}
MLP_TRAINING = "mlp.smoke.training.float32.static.b64"
MLP_INFERENCE = "mlp.smoke.inference.float32.static.b64"


def job(benchmark: str, config: str, **fields: Any) -> dict[str, Any]:
    """A job document with a fixed id."""
    name = f"{benchmark.split('.')[2]}-{config.replace('_', '-')}"
    return {
        "schema": "job.v1",
        "job_id": f"golden-{name}",
        "attempt": 1,
        "benchmark": benchmark,
        "config": config,
        **fields,
    }


JOBS = {
    "minimal": job(MLP_INFERENCE, "inductor"),
    "pass": job(
        MLP_TRAINING,
        "inductor",
        purpose="scheduled",
        build="2.13.0+cpu",
        planned_at="2026-11-21T03:00:00+00:00",
        measure={**QUICK, "starts": ["cold", "warm", "restored", "diagnostic"]},
        variant={"env": {"TORCHINDUCTOR_FX_GRAPH_CACHE": "1"}, "inductor": {"max_fusion_size": 32}},
        timeout_s=600,
    ),
    "eager": job(MLP_INFERENCE, "eager", measure=QUICK),
    "unsupported": job(MLP_INFERENCE, "inductor_optimizer", measure={**QUICK, "starts": []}),
}
NOT_RUN = ("minimal",)


def main() -> None:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for name, document in JOBS.items():
        job_file = GOLDEN / f"job.{name}.json"
        job_file.write_text(json.dumps(document, indent=1) + "\n")
        if name not in NOT_RUN:
            _run(job_file, GOLDEN / f"result.{name}.json")


def _run(job_file: Path, golden: Path) -> None:
    """Runs the job in its own folder, so that its artifacts do not end up in the golden files."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        subprocess.run(
            [sys.executable, "-m", "benchmarks_suite", "run", str(job_file), str(result)],
            check=True,
        )
        golden.write_text(json.dumps(json.loads(result.read_text()), indent=1) + "\n")


if __name__ == "__main__":
    main()
