"""Makes the base of caches.py and prints the seconds that it took.

python -m benchmarks_suite.harness.prepare_toolchain DEVICE WRAPPER
"""

import sys

from benchmarks_suite.harness import forks, torch_versions

if __name__ == "__main__":
    seconds = torch_versions.prepare_toolchain(*sys.argv[1:])
    print(seconds)  # noqa: T201 - the answer to caches.py
    forks.end_at_once()  # a library that crashes while it ends says nothing about the compilers
