"""All tables of the site in one Django app: foreign keys run through every subject."""

from dashboard.models.access import ApiToken, Scope
from dashboard.models.alerts import (
    Alert,
    AlertEvent,
    AlertGroup,
    AlertState,
    Annotation,
    Cause,
    Confirmation,
    DetectorState,
    Direction,
    InvalidPoint,
    IssueLink,
    Kind,
    Mute,
    Severity,
)

# Django keeps calling it "change": its table, admin addresses and permissions have that name
from dashboard.models.audit import Change as AuditChange
from dashboard.models.catalog import Benchmark, Config, Machine, ModelRepository, TorchBuild, Track
from dashboard.models.fleet import Worker
from dashboard.models.notifications import Channel, Delivery, Rule
from dashboard.models.people import SavedView
from dashboard.models.results import (
    Artifact,
    Datum,
    DayLevel,
    Environment,
    RefusedResult,
    Result,
    Samples,
    Series,
)
from dashboard.models.runs import Job, JobState, Purpose, Run, RunState, Schedule, Status
from dashboard.models.versions import (
    Bisection,
    BuildLevel,
    Comparison,
    InstalledEnvironment,
    Requirements,
)

__all__ = [
    "Alert",
    "AlertEvent",
    "AlertGroup",
    "AlertState",
    "Annotation",
    "ApiToken",
    "Artifact",
    "AuditChange",
    "Benchmark",
    "Bisection",
    "BuildLevel",
    "Cause",
    "Channel",
    "Comparison",
    "Config",
    "Confirmation",
    "Datum",
    "DayLevel",
    "Delivery",
    "DetectorState",
    "Direction",
    "Environment",
    "InstalledEnvironment",
    "InvalidPoint",
    "IssueLink",
    "Job",
    "JobState",
    "Kind",
    "Machine",
    "ModelRepository",
    "Mute",
    "Purpose",
    "RefusedResult",
    "Requirements",
    "Result",
    "Rule",
    "Run",
    "RunState",
    "Samples",
    "SavedView",
    "Schedule",
    "Scope",
    "Series",
    "Severity",
    "Status",
    "TorchBuild",
    "Track",
    "Worker",
]
