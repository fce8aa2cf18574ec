"""Environments as they are reported to the site (docs/architecture.md)."""

import hashlib
from datetime import UTC, datetime
from typing import Any

from runner.environments.adopted import SuiteEnvironment
from runner.environments.store import EnvironmentRecord


def report_adopted(environment: SuiteEnvironment) -> dict[str, Any]:
    """message: the interpreter's path."""
    interpreter = environment.command[0]
    return {
        "key": f"adopted-{hashlib.sha256(interpreter.encode()).hexdigest()[:16]}",
        "build": environment.label,
        "libraries": environment.build.get("libraries", {}),
        "state": "ready",
        "adopted": True,
        "message": interpreter,
    }


def report_installed(
    key: str,
    record: EnvironmentRecord,
    *,
    state: str = "ready",
    message: str = "",
    last_used: float | None = None,
) -> dict[str, Any]:
    """state: building, ready, failed, damaged, evicted; last_used: seconds since 1970."""
    used = datetime.fromtimestamp(last_used, UTC).isoformat() if last_used else None
    return {
        "key": key,
        "build": record.build,
        "libraries": record.libraries,
        "state": state,
        "adopted": False,
        "message": message[-4000:],
        "size_mb": record.size_mb or None,
        "last_used": used,
        "facts": record.facts,
    }
