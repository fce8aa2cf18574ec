"""All tables of the site in one Django app: foreign keys run through every subject."""

from dashboard.models.access import ApiToken, Scope
from dashboard.models.alert_words import (
    AlertState,
    Cause,
    Direction,
    EvidenceState,
    Kind,
    Severity,
    WorkflowState,
)
from dashboard.models.alerts import (
    Alert,
    AlertEvent,
    AlertGroup,
    Confirmation,
    DetectorState,
    InvalidPoint,
    IssueLink,
    Mute,
)

# Django keeps calling it "change": its table, admin addresses and permissions have that name
from dashboard.models.audit import Change as AuditChange
from dashboard.models.catalog import (
    Benchmark,
    Config,
    Machine,
    ModelRepository,
    OwnRevision,
    TorchBuild,
    Track,
)
from dashboard.models.fleet import Worker
from dashboard.models.notifications import Channel, Delivery, Rule, Subject
from dashboard.models.people import Annotation, FamilyOwner, SavedView, StarredModel
from dashboard.models.results import (
    Artifact,
    Datum,
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
