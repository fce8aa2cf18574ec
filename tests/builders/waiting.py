"""Waiting for what other processes and threads do."""

import time
from collections.abc import Callable


def wait_for(condition: Callable[[], object], seconds: float = 60) -> None:
    """Wait until `condition()` is true; TimeoutError when it is not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds} s: {condition}")
        time.sleep(0.02)
