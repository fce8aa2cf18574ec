from dashboard.models.catalog import Benchmark, Config, Machine, TorchBuild, Track
from dashboard.models.fleet import Worker
from dashboard.models.results import Artifact, Datum, Environment, RefusedResult, Result, Samples, Series
from dashboard.models.runs import Job, JobState, Purpose, Run, RunState, Schedule, Status

__all__ = [
    "Artifact",
    "Benchmark",
    "Config",
    "Datum",
    "Environment",
    "Job",
    "JobState",
    "Machine",
    "Purpose",
    "RefusedResult",
    "Result",
    "Run",
    "RunState",
    "Samples",
    "Schedule",
    "Series",
    "Status",
    "TorchBuild",
    "Track",
    "Worker",
]
