"""Python in a process of its own."""

import json
import subprocess
import sys
from typing import Any


def in_fresh_process(code: str) -> Any:
    """What ``code`` prints, as JSON: dynamo's counters belong to the whole process."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)
