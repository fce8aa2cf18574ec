"""``… benchmarks_suite.harness.prepare_toolchain DEVICE WRAPPER``: makes the base of caches.py,
tells the seconds.
"""

import sys

from benchmarks_suite.harness import forks, torch_versions

if __name__ == "__main__":
    print(torch_versions.prepare_toolchain(*sys.argv[1:]))  # noqa: T201 - the answer to the process that asked
    forks.end_at_once()  # a crash in a library's farewell is no word on the compilers
