"""What this computer is: sent with hello, shown on the fleet page."""

import os
import platform
import re
from pathlib import Path
from typing import Any

import psutil


def computer() -> dict[str, Any]:
    """host, cpu (its model), cores (that this process may use), memory_gb (GiB), system,
    runner_python.
    """
    return {
        "host": platform.node(),
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(psutil.virtual_memory().total / 1024**3, 2),
        "system": platform.platform(),
        "runner_python": platform.python_version(),
    }


def disk(folder: Path) -> dict[str, float]:
    """disk_gb and disk_free_gb (10⁹ bytes) of the disk that a folder lies on, or will lie on once
    it is made.
    """
    there = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    usage = psutil.disk_usage(str(there))
    return {"disk_gb": round(usage.total / 1e9, 1), "disk_free_gb": round(usage.free / 1e9, 1)}


def _cpu_model() -> str:
    """As the kernel names it; ARM kernels name none, there it is the architecture."""
    found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1].strip() if found else platform.machine()
