"""What diagnostic reruns of an alert's builds have brought, or why there is none."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from dashboard.alerts.selectors.evidence import surest
from dashboard.language.metrics import EAGER
from dashboard.models import (
    Alert,
    AlertGroup,
    Cause,
    Confirmation,
    Direction,
    EvidenceState,
    Job,
    Kind,
    Worker,
)
from dashboard.results.core.code_diff import ARCHIVE
from dashboard.results.core.compile_diff import CALLS
from dashboard.results.core.structured_trace import LOG, TRACE
from dashboard.runs.selectors.runs import ACTIVE, ALIVE, TAKES_JOBS

RECENT = timedelta(days=3)  # since the confirmation; later, a person decides
_CONTENTS = {  # artifact -> what it is called
    TRACE: "structured trace, FX graphs",
    LOG: "compiler log",
    CALLS: "counted calls",
    ARCHIVE: "generated code",
}
# Of these the compiler's own records can say more; of a machine or another suite they say nothing
EXPLAINED = (Cause.COMPILER, Cause.UNKNOWN)


@dataclass(frozen=True, slots=True)
class DiagnosedSide:
    """The newest diagnostic job of a build. artifacts: the names of those that are kept."""

    name: str
    job: Job
    size_bytes: int
    artifacts: frozenset[str]

    @property
    def brought(self) -> bool:
        """Whether its trace or its log is kept."""
        return bool(self.artifacts & {TRACE, LOG})

    @property
    def is_active(self) -> bool:
        return self.job.state in ACTIVE

    @property
    def why_not(self) -> str:
        """Why an ended job brought nothing; empty where it did."""
        if self.brought or self.is_active:
            return ""
        return self.job.message or "It brought neither trace nor log, or they are no longer kept."


@dataclass(frozen=True, slots=True)
class CollectedEvidence:
    """The newest diagnostic rerun of a group.

    state: none, collecting, there, or gone: nothing of it came, or is kept any more.
    why_not: why there is none; empty where there is one, or one is due.
    """

    state: str
    sides: Sequence[DiagnosedSide]
    why_not: str
    may_collect: bool

    @property
    def reason(self) -> str:
        """Why a side has nothing of it, as the list of what is missing says it."""
        if self.state == "collecting":
            return "They are being collected."
        why = [f"{side.name}: {side.why_not}" for side in self.sides if side.why_not]
        if self.sides:
            return " ".join(why) or "The diagnostic rerun was one of another case of this alert."
        return f"No diagnostic rerun has brought any. {self.why_not or 'They are due.'}"

    @property
    def size_bytes(self) -> int:
        return sum(side.size_bytes for side in self.sides)

    @property
    def contents(self) -> str:
        """What a build left, in words."""
        names = frozenset[str]().union(*(side.artifacts for side in self.sides))
        words = [_CONTENTS[name] for name in _CONTENTS if name in names]
        return ", ".join(words)

    @property
    def case(self) -> str:
        job = self.sides[0].job
        return f"{job.benchmark} in {job.config}"


def of_group(group: AlertGroup, alerts: Sequence[Alert]) -> CollectedEvidence:
    """alerts: all of the group's. Two queries at most; none for the reruns where
    `alert_page.groups` knows that there is none.
    """
    sides = _sides(group)
    if not sides:
        refusal = why_impossible(group, alert_to_diagnose(alerts))
        now = timezone.now()
        why_not = refusal or why_not_by_itself(group, now) or _why_not_now(group, now)
        return CollectedEvidence("none", (), why_not, may_collect=not refusal)
    if any(side.is_active for side in sides):
        return CollectedEvidence("collecting", sides, "", may_collect=False)
    state = "there" if any(side.brought for side in sides) else "gone"
    return CollectedEvidence(state, sides, "", may_collect=True)


def _sides(group: AlertGroup) -> list[DiagnosedSide]:
    """Base and new of the alert that was diagnosed last."""
    if not getattr(group, "was_diagnosed", True):
        return []
    jobs = (
        Job.objects.filter(run__evidence_of__group=group)
        .select_related("run__build", "benchmark", "config")
        .prefetch_related("artifacts")
        .defer("spec", "log_tail")
        .order_by("-planned_at")
    )
    sides: dict[str, DiagnosedSide] = {}
    diagnosed = None
    for job in jobs:
        diagnosed = diagnosed or job.run.evidence_of_id
        name = job.run.request["side"]
        if job.run.evidence_of_id == diagnosed and name not in sides:
            artifacts = list(job.artifacts.all())
            sides[name] = DiagnosedSide(
                name,
                job,
                sum(artifact.size_bytes for artifact in artifacts),
                frozenset(artifact.name for artifact in artifacts),
            )
    return [sides[name] for name in sorted(sides)]  # base, new


def alerts_of(group: AlertGroup) -> list[Alert]:
    """With what planning a rerun needs."""
    related = ("series__benchmark", "series__config", "base", "new", "job", "group__machine")
    return list(group.alerts.select_related(*related))


def alert_to_diagnose(alerts: Sequence[Alert]) -> Alert | None:
    """Of the confirmed alerts the one that moved most; of all where none is confirmed."""
    return max(surest(alerts), key=_size, default=None)


def _size(alert: Alert) -> float:
    return abs(alert.size.effect or 0.0)


def why_impossible(group: AlertGroup, alert: Alert | None) -> str:
    """Why the two builds of this alert cannot be diagnosed at all; empty where they can."""
    if group.from_imports:
        return "Another system measured it: none of it runs here."
    if alert is None or group.machine_id is None or group.track_id is None:
        return "This alert is not a measurement."
    if group.kind == Kind.SILENCE or alert.new_id is None:
        return "This alert is not a measurement of a build."
    if alert.base_id == alert.new_id:
        return "The build did not change, so there are no two builds to compare."
    if alert.series.config.name == EAGER:
        return "It is a case in eager: nothing is compiled there."
    return ""


def why_not_by_itself(group: AlertGroup, now: datetime) -> str:
    """Why the system would not diagnose the group's builds unless a person asks for it."""
    if not settings.EVIDENCE_JOBS_A_DAY:
        return "Here they are collected only when somebody asks for it (EVIDENCE_JOBS_A_DAY is 0)."
    if reason := _why_not_this(group):
        return reason
    confirmation: Confirmation | None = getattr(group, "confirmation", None)
    if confirmation is None or confirmation.finished_at is None:
        return "They are collected once both builds have been measured again."
    if confirmation.finished_at < now - RECENT:
        return (
            f"The confirmation ended more than {RECENT.days} days ago: a person may ask for them."
        )
    return ""


def _why_not_now(group: AlertGroup, now: datetime) -> str:
    """What a rerun that is due waits for, where that may take long; else empty."""
    workers = Worker.objects.filter(TAKES_JOBS, machine=group.machine, last_seen__gt=now - ALIVE)
    if workers.exists():
        return ""
    return (
        f"No worker of {group.machine} takes jobs now: they are collected if one does within "
        f"{RECENT.days} days of the confirmation."
    )


def _why_not_this(group: AlertGroup) -> str:
    if group.kind not in (Kind.STEP, Kind.STATUS):
        return "They are collected by themselves only where the change came with a build."
    if group.direction not in (Direction.REGRESSION, Direction.TRADE_OFF):
        return "They are collected by themselves only for regressions."
    if group.evidence_state == EvidenceState.RECOVERED:
        return "The change is gone, so they are not collected any more."
    if group.evidence_state != EvidenceState.CONFIRMED:
        return "They are collected once the alert is confirmed."
    if group.cause not in EXPLAINED:
        likely = f"The likely cause is not the compiler ({group.cause} is)"
        return f"{likely}, so its records would say little."
    return ""
