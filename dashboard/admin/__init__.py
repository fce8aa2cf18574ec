"""The admin: runs are triggered here, and what they run on is described here. One file per kind of thing."""

from dashboard.admin import accounts, beat, catalog, fleet, jobs, runs, schedules, versions

__all__ = ["accounts", "beat", "catalog", "fleet", "jobs", "runs", "schedules", "versions"]
