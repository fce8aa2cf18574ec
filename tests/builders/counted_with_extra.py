"""A counted start of the MLP whose compiler does more work than it must.

    python -m tests.builders.counted_with_extra FOLDER EXTRA_CALLS

One of Inductor's passes calls a function that does nothing, EXTRA_CALLS times. The answer and the
table of calls are left in FOLDER.
"""

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks_suite.harness import caches, call_counts, start, warm_imports
from benchmarks_suite.harness.job import parse
from tests.builders.measured_jobs import MLP


def does_nothing() -> None:
    """The extra work."""


def main(folder: Path, extra_calls: int) -> None:
    job = {"schema": "job.v1", "job_id": "test", "attempt": 1, "benchmark": MLP}
    parsed = parse({**job, "config": "inductor"})
    warm_imports.set_variables(parsed)
    os.environ.update(caches.base(parsed.device).copied_to(folder).environment)
    compile_fx: Any = import_module("torch._inductor.compile_fx")
    original = compile_fx.post_grad_passes

    def with_extra_work(*arguments: Any, **options: Any) -> Any:
        for _ in range(extra_calls):
            does_nothing()
        return original(*arguments, **options)

    compile_fx.post_grad_passes = with_extra_work
    spec = folder / "spec.json"
    calls_out = str(folder / call_counts.ARTIFACT)
    spec.write_text(json.dumps({"job": parsed.document, "kind": "counted", "calls_out": calls_out}))
    start.answer(spec, folder / "answer.json")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
