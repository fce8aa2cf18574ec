"""Alerts: what changed, how sure we are, whose fault it is, and what people did about it.

A change of one series is an Alert; alerts with the same likely cause are one AlertGroup, which
people triage. docs/architecture.md draws the group's states.
"""

from typing import Any, NamedTuple

from django.conf import settings
from django.db import models
from django.urls import reverse

from dashboard.models.alert_words import (
    IN_WORK,
    OVER,
    AlertState,
    Cause,
    Direction,
    EvidenceState,
    Kind,
    Severity,
    WorkflowState,
)
from dashboard.models.fields import JSONField


class DetectorState(models.Model):
    """State of one series' online detector: a new datum needs no look at the history."""

    series = models.OneToOneField(
        "dashboard.Series", primary_key=True, on_delete=models.CASCADE, related_name="detector"
    )
    # Of the detector that wrote it; "" = nothing judged yet
    version = models.CharField(max_length=40, blank=True)
    state = JSONField(default=dict)  # alerts/services/detection.py writes it
    planned_at = models.DateTimeField(null=True)  # of the last datum that it has seen
    # There is something to judge; set in the transaction that brought it
    due = models.BooleanField(default=False)
    # Its noise is known well enough for young series to borrow it
    lends = models.BooleanField(default=False, db_default=False)
    # The smallest change that this series shows in 9 of 10 cases
    can_show_percent = models.FloatField(null=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        indexes = [
            models.Index(fields=["series"], condition=models.Q(due=True), name="detector_due"),
            models.Index(fields=["series"], condition=models.Q(lends=True), name="detector_lends"),
        ]

    def __str__(self) -> str:
        return f"detector of series {self.series_id}"


class AlertGroup(models.Model):
    """Every alert with the same likely cause: what people see, judge and close."""

    title = models.CharField(max_length=300)
    kind = models.CharField(max_length=20, choices=Kind, default=Kind.STEP)
    evidence_state = models.CharField(
        max_length=20, choices=EvidenceState, default=EvidenceState.SUSPECTED, db_index=True
    )
    workflow_state = models.CharField(
        max_length=20, choices=WorkflowState, default=WorkflowState.NEW, db_index=True
    )
    direction = models.CharField(max_length=20, choices=Direction, default=Direction.REGRESSION)
    severity = models.CharField(max_length=20, choices=Severity, default=Severity.MEDIUM)
    cause = models.CharField(max_length=20, choices=Cause, default=Cause.UNKNOWN)
    # [{"fact", "says", "supports": cause, "url"}], the argument of the page
    evidence = JSONField(default=list)
    machine = models.ForeignKey(
        "dashboard.Machine", null=True, on_delete=models.PROTECT, related_name="alert_groups"
    )
    track = models.ForeignKey(
        "dashboard.Track", null=True, on_delete=models.PROTECT, related_name="alert_groups"
    )
    base = models.ForeignKey(
        "dashboard.TorchBuild", null=True, on_delete=models.PROTECT, related_name="+"
    )
    new = models.ForeignKey(
        "dashboard.TorchBuild", null=True, on_delete=models.PROTECT, related_name="+"
    )
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="alert_groups",
    )
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("alert", args=[self.pk])

    @property
    def is_open(self) -> bool:
        return self.workflow_state in IN_WORK and self.evidence_state not in OVER

    @property
    def state(self) -> str:
        """Evidence and workflow in one word, as in AlertState."""
        is_answered = self.workflow_state not in IN_WORK
        is_taken = self.workflow_state == WorkflowState.ACKNOWLEDGED
        if is_answered or (is_taken and self.evidence_state not in OVER):
            return self.workflow_state
        return self.evidence_state


class Size(NamedTuple):
    """A change with its interval, in unit."""

    effect: float | None
    low: float | None
    high: float | None
    unit: str


class Alert(models.Model):
    """One series changed at one build."""

    group = models.ForeignKey(AlertGroup, on_delete=models.CASCADE, related_name="alerts")
    series = models.ForeignKey("dashboard.Series", on_delete=models.CASCADE, related_name="alerts")
    kind = models.CharField(max_length=20, choices=Kind)
    direction = models.CharField(max_length=20, choices=Direction)
    job = models.ForeignKey(  # whose datum is the first point of the new level
        "dashboard.Job", null=True, on_delete=models.SET_NULL, related_name="alerts"
    )
    planned_at = models.DateTimeField()  # of that datum
    seen_at = models.DateTimeField()  # planned_at of the datum at which the detector was sure
    base = models.ForeignKey(
        "dashboard.TorchBuild", null=True, on_delete=models.PROTECT, related_name="+"
    )
    new = models.ForeignKey(
        "dashboard.TorchBuild", null=True, on_delete=models.PROTECT, related_name="+"
    )
    effect = models.FloatField(null=True)  # with its interval, in unit
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    unit = models.CharField(max_length=20)  # percent, or difference for counts and status words
    # Of points on pure noise, how many look like this: for the FDR
    false_alarm_share = models.FloatField(null=True)
    # The outcome for this series: confirmed, not_reproduced, inconclusive; "" = it was not a
    # representative
    confirmation = models.CharField(max_length=20, blank=True)
    recovered_at = models.DateTimeField(null=True)
    detector_version = models.CharField(max_length=40)
    decision = JSONField(default=dict)  # points, settings, verdict: enough to decide again

    class Meta:
        ordering = ["-planned_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["series", "planned_at", "kind", "direction"], name="alert_once_per_change"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} of series {self.series_id}"

    @property
    def decided(self) -> dict[str, Any]:
        """The decision, or what a list has read of it (`alerts.with_alerts`), without its points:
        `words`, `confirmation`, `withdrawn`, `verdict`.
        """
        brief: dict[str, Any] | None = getattr(self, "decision_in_brief", None)
        return self.decision if brief is None else brief

    @property
    def is_withdrawn(self) -> bool:
        """Its points were judged again, as after some were excluded, and no longer show it."""
        return bool(self.decided.get("withdrawn"))

    @property
    def size(self) -> Size:
        """Size of the change: as confirmed; until it is, as the detector first estimated it."""
        outcome = self.decided.get("confirmation")
        if self.confirmation != EvidenceState.CONFIRMED or not outcome:
            return Size(self.effect, self.low, self.high, self.unit)
        return Size(outcome["effect"], outcome["low"], outcome["high"], outcome["unit"])

    @property
    def is_smaller(self) -> bool:
        """Confirmed, but less than half of what the detector first estimated."""
        outcome = self.decided.get("confirmation") or {}
        return self.confirmation == EvidenceState.CONFIRMED and outcome.get("smaller", False)

    @property
    def levels(self) -> tuple[float, float] | None:
        """The levels that `effect`, the first estimate, lies between, in the metric's unit.

        None where the detector did not keep them, and for a status, whose levels are words.
        """
        if self.decided.get("words"):
            return None
        verdict = self.decided.get("verdict", {})
        before, after = verdict.get("level_before"), verdict.get("level_after")
        if before is None or after is None:
            return None
        return before, after


class AlertEvent(models.Model):
    """One move or remark in the life of a group: who, when, why."""

    group = models.ForeignKey(AlertGroup, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField(auto_now_add=True)
    by = models.ForeignKey(  # null: the system
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    # opened, state, assigned, handed over, note, linked, nudged, split, merged, cause
    action = models.CharField(max_length=40)
    state = models.CharField(max_length=20, choices=AlertState)  # after it
    text = models.TextField(blank=True)
    # Accounts that it concerns: they are notified in person, whatever the rules say
    people = JSONField(default=list, db_default=[], blank=True)
    # When the rules decided who is notified; null = not yet
    considered_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["at", "pk"]
        indexes = [
            models.Index(
                fields=["id"], condition=models.Q(considered_at=None), name="event_to_consider"
            )
        ]

    def __str__(self) -> str:
        return f"{self.action}: {self.state}"


class IssueLink(models.Model):
    """An issue or pull request of another system that belongs to a group."""

    group = models.ForeignKey(AlertGroup, on_delete=models.CASCADE, related_name="links")
    url = models.URLField(max_length=500)
    title = models.CharField(max_length=200, blank=True)
    # As GitHub last said: open, closed, merged; "" where it is not followed
    state = models.CharField(max_length=20, blank=True)
    reason = models.CharField(max_length=40, blank=True)  # of closing: completed, not_planned
    checked_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.title or self.url

    @property
    def state_in_words(self) -> str:
        """ "open", "closed as completed"; empty where it is not followed."""
        if not self.reason:
            return self.state
        return f"{self.state} as {self.reason.replace('_', ' ')}"


class Confirmation(models.Model):
    """Base and new build re-measured in turn for at most three alerts of a group.

    Its runs point at it.
    """

    class State(models.TextChoices):
        RUNNING = "running"
        DONE = "done"
        SKIPPED = "skipped"  # the queue is deep or the rate limit is reached; message says which

    group = models.OneToOneField(AlertGroup, on_delete=models.CASCADE, related_name="confirmation")
    state = models.CharField(max_length=20, choices=State, default=State.RUNNING)
    alerts = models.ManyToManyField(Alert, related_name="confirmations")  # the representatives
    # The drawn order of builds: ["base", "new", "new", "base", …]
    order = JSONField(default=list)
    # The base build cannot be installed any more: weaker
    only_new = models.BooleanField(default=False)
    message = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"confirmation of {self.group}"


class InvalidPoint(models.Model):
    """A datum that a person took out of detection and trends; deleting the row brings it back."""

    job = models.ForeignKey(
        "dashboard.Job", on_delete=models.CASCADE, related_name="invalid_points"
    )
    series = models.ForeignKey(
        "dashboard.Series", on_delete=models.CASCADE, related_name="invalid_points"
    )
    reason = models.TextField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["series", "job"], name="invalid_point_once")]

    def __str__(self) -> str:
        return self.reason[:100]


class Mute(models.Model):
    """A series that raises no alert until a moment."""

    series = models.ForeignKey("dashboard.Series", on_delete=models.CASCADE, related_name="mutes")
    until = models.DateTimeField()
    reason = models.TextField(blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"series {self.series_id} until {self.until:%Y-%m-%d}"
