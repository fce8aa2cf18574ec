"""Python in a process of its own."""

import json
import subprocess
import sys
from typing import Any


def in_fresh_process(code: str) -> Any:
    """Run ``code`` and parse the JSON it prints: dynamo's counters belong to the whole process."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)
