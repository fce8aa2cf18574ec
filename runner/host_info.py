"""Description of this computer: sent with hello, shown on the fleet page."""

import os
import platform
import re
from pathlib import Path
from typing import Any

import psutil


def describe_host() -> dict[str, Any]:
    """cores: those that this process may use; memory_gb: GiB."""
    # As the kernel names it. ARM kernels name none: there it is the architecture
    cpu_info = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*:\s*(.+)$", cpu_info, re.MULTILINE)
    return {
        "host": platform.node(),
        "cpu": model[1].strip() if model else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(psutil.virtual_memory().total / 1024**3, 2),
        "system": platform.platform(),
        "runner_python": platform.python_version(),
    }


def disk_space(folder: Path) -> dict[str, float]:
    """disk_gb and disk_free_gb (10⁹ bytes) of the disk of a folder, which need not exist yet."""
    usage = psutil.disk_usage(str(nearest_existing(folder)))
    return {"disk_gb": round(usage.total / 1e9, 1), "disk_free_gb": round(usage.free / 1e9, 1)}


def nearest_existing(folder: Path) -> Path:
    """The folder, or where it will be made."""
    candidates = (folder, *folder.absolute().parents)
    return next(path for path in candidates if path.exists())
