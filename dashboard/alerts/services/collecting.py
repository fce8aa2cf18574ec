"""Has both builds of a confirmed alert run once more for its report: with the compiler's own trace
and log, which the suite's diagnostic start keeps, counted calls and generated code.

`start_due` begins by itself, within a budget for each machine; `collect` begins because a person
asks for it. The jobs wait behind everything else, and detection reads nothing of them. What they
left is among the files of the alert's report: selectors/report_files.py.
"""

from datetime import datetime, timedelta
from uuid import uuid4

import structlog
from django.conf import settings
from django.db import transaction

from dashboard.alerts.selectors import collected_evidence
from dashboard.alerts.selectors.alerts import OPEN, RANK
from dashboard.alerts.selectors.collected_evidence import EXPLAINED, RECENT
from dashboard.alerts.services import triage
from dashboard.alerts.services.confirmations import STEP, libraries_of, reason_to_wait
from dashboard.alerts.services.history import Person
from dashboard.language.contracts import Document
from dashboard.language.errors import ActionNotAllowed
from dashboard.models import (
    Alert,
    AlertGroup,
    Confirmation,
    EvidenceState,
    Job,
    Machine,
    Purpose,
    Run,
)
from dashboard.runs.selectors.runs import ACTIVE
from dashboard.runs.services.dispatch import assign_queue_order, dispatch
from dashboard.runs.services.isolation import isolated
from dashboard.runs.services.partitions import ensure_partitions
from dashboard.runs.services.run_state import refresh_runs
from dashboard.runs.services.runs import plan_job

STARTS = ("counted", "diagnostic")  # in addition to those that the alert's own job had
LONGEST_S = 86_400  # timeout_s of job.v1.json, at most

logger = structlog.get_logger(__name__)


def start_due(*, now: datetime) -> int:
    """Start what can be started, the most severe regressions first; how many."""
    if not settings.EVIDENCE_JOBS_A_DAY:
        return 0
    confirmed = AlertGroup.objects.filter(
        OPEN,
        evidence_state=EvidenceState.CONFIRMED,
        cause__in=EXPLAINED,
        machine__isnull=False,
        confirmation__state=Confirmation.State.DONE,
        confirmation__finished_at__gt=now - RECENT,
    ).exclude(alerts__evidence_runs__isnull=False)
    groups = confirmed.select_related("machine", "confirmation")
    ranked = sorted(groups, key=lambda group: (RANK[group.severity], group.created_at))
    started = 0
    for group in ranked:
        with isolated("evidence could not be collected", group=group.pk):
            started += _start_if_possible(group, now)
    return started


def _start_if_possible(group: AlertGroup, now: datetime) -> bool:
    """Start unless something speaks against it: of two calls at once, one does."""
    alert = collected_evidence.alert_to_diagnose(collected_evidence.alerts_of(group))
    if collected_evidence.why_impossible(group, alert):
        return False
    if collected_evidence.why_not_by_itself(group, now):
        return False
    assert alert is not None
    assert group.machine is not None
    with transaction.atomic():
        machine = Machine.objects.select_for_update(no_key=True).get(pk=group.machine.pk)
        if Run.objects.filter(evidence_of__group=group).exists():
            return False
        if reason_to_wait(machine=machine, now=now, limited=False):
            return False
        if is_over_budget(machine=machine, now=now):
            return False
        _plan(alert, now, None)
    logger.info("evidence is collected", group=group.pk, alert=alert.pk)
    return True


def is_over_budget(*, machine: Machine, now: datetime) -> bool:
    """Test whether the reruns that alerts started have used up their day's jobs on the machine."""
    own = Job.objects.filter(
        run__machine=machine,
        run__evidence_of__isnull=False,
        run__created_by=None,
        run__created_at__gt=now - timedelta(days=1),
    )
    return own.count() >= int(settings.EVIDENCE_JOBS_A_DAY)


def collect(*, group: AlertGroup, by: Person, now: datetime) -> list[Run]:
    """Plan the reruns because a person asks for them; the day's budget does not count.

    Raises ActionNotAllowed with the reason.
    """
    with transaction.atomic():
        alert = collected_evidence.alert_to_diagnose(collected_evidence.alerts_of(group))
        if reason := collected_evidence.why_impossible(group, alert):
            raise ActionNotAllowed(f"No evidence can be collected here. {reason}")
        assert alert is not None
        assert group.machine is not None
        Machine.objects.select_for_update(no_key=True).get(pk=group.machine.pk)
        active = Job.objects.filter(run__evidence_of__group=group, state__in=ACTIVE)
        if active.exists():
            raise ActionNotAllowed("Its evidence is being collected already.")
        return _plan(alert, now, by)


def _plan(alert: Alert, now: datetime, by: Person) -> list[Run]:
    """A run of one job for each build; sent on commit."""
    group, session = alert.group, uuid4().hex  # measured in turn, so on one device
    assert group.machine is not None
    assert group.track is not None
    runs: list[Run] = []
    jobs: list[Job] = []
    for side, build in (("base", alert.base), ("new", alert.new)):
        if build is None:
            continue
        run = Run.objects.create(
            label=f"Evidence for alert {group.pk}: {side}",
            purpose=Purpose.CONFIRMATION,
            build=build,
            machine=group.machine,
            track=group.track,
            evidence_of=alert,
            session=session,
            libraries=libraries_of(group),
            request={"side": side},
            created_by_id=by.pk if by else None,
        )
        runs.append(run)
        jobs.append(_job(run, alert, now + len(jobs) * STEP))
    ensure_partitions(moments=[job.planned_at for job in jobs])
    Job.objects.bulk_create(assign_queue_order(jobs))
    refresh_runs(run_ids=[run.pk for run in runs])
    builds = " and ".join(str(run.build) for run in runs)
    case = f"{alert.series.benchmark} in {alert.series.config}"
    text = f"Collecting evidence of {builds}: {case}, with the compiler's trace and log."
    triage.note(group=group, text=text, by=by)
    transaction.on_commit(dispatch)
    return runs


def _job(run: Run, alert: Alert, planned_at: datetime) -> Job:
    """The alert's own job with two more starts, and as much time again for the diagnostic one."""
    timeout_s = min(2 * run.machine.timeout_s, LONGEST_S)
    benchmark, config = alert.series.benchmark, alert.series.config
    return plan_job(run, 0, benchmark, config, planned_at, _measure(alert), timeout_s)


def _measure(alert: Alert) -> Document:
    measure: Document = alert.job.spec.get("measure", {}) if alert.job else {}
    starts = dict.fromkeys([*measure.get("starts", ["cold"]), *STARTS])
    return {**measure, "starts": list(starts), "keep_code": True}
