"""The admin: runs are triggered here, and what they run on is described here. One file per kind of
thing.
"""

from dashboard.admin import (
    accounts,
    alerts,
    audit,
    beat,
    catalog,
    fleet,
    jobs,
    own_models,
    runs,
    schedules,
    telling,
    tokens,
    versions,
)

__all__ = [
    "accounts",
    "alerts",
    "audit",
    "beat",
    "catalog",
    "fleet",
    "jobs",
    "own_models",
    "runs",
    "schedules",
    "telling",
    "tokens",
    "versions",
]
