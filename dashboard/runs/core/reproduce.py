"""The command that repeats a job by hand. Pure."""

import json
import shlex
from collections.abc import Mapping
from typing import Any


def command(spec: Mapping[str, Any], line: str) -> str:
    """The suite's own ``line``; without one, the job file of ``spec`` and what runs it."""
    if line:
        return line
    document = json.dumps({**spec, "attempt": 1}, indent=2, sort_keys=True)
    return (
        f"echo {shlex.quote(document)} > job.json\n"
        "python -m benchmarks_suite run job.json result.json"
    )
