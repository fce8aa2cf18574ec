"""Schedules, runs, jobs. docs/architecture.md draws their states and invariants."""

import uuid

from django.conf import settings
from django.db import models
from django.urls import reverse

from dashboard.models.fields import JSONField


class Purpose(models.TextChoices):
    SCHEDULED = "scheduled"
    MANUAL = "manual"
    CONFIRMATION = "confirmation"
    BISECTION = "bisection"
    IMPORT = "import"


class RunState(models.TextChoices):
    PLANNED = "planned"
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"  # no job of it brought a result
    CANCELLED = "cancelled"


class JobState(models.TextChoices):
    PLANNED = "planned"
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"  # a result document was stored, whatever its status
    FAILED = "failed"  # it ended without a usable result document
    TIMED_OUT = "timed_out"
    LOST = "lost"  # its worker fell silent and its retries are spent
    CANCELLED = "cancelled"


class Status(models.TextChoices):
    """How a case ended. Stored as the suite writes it."""

    PASS = "pass"  # noqa: S105 - a status word
    FAIL_ACCURACY = "fail_accuracy"
    EAGER_TWO_RUNS_DIFFER = "eager_two_runs_differ"
    FAIL_TO_COMPILE = "fail_to_compile"
    FAIL_TO_RUN = "fail_to_run"
    OOM = "oom"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    UNSUPPORTED = "unsupported"


class Run(models.Model):
    """One trigger on one build: many jobs."""

    label = models.CharField(max_length=200, blank=True)
    purpose = models.CharField(max_length=20, choices=Purpose, default=Purpose.MANUAL)
    state = models.CharField(
        max_length=20, choices=RunState, default=RunState.PLANNED, db_index=True
    )
    build = models.ForeignKey("dashboard.TorchBuild", on_delete=models.PROTECT, related_name="runs")
    track = models.ForeignKey("dashboard.Track", on_delete=models.PROTECT, related_name="runs")
    machine = models.ForeignKey("dashboard.Machine", on_delete=models.PROTECT, related_name="runs")
    # What was requested: families, benchmarks, configs, measure
    request = JSONField(default=dict)
    # {"transformers": "5.23.0"}; {} = the newest that the build takes
    libraries = JSONField(default=dict, blank=True)
    comparison = models.ForeignKey(
        "dashboard.Comparison",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="runs",
    )
    bisection = models.ForeignKey(
        "dashboard.Bisection", null=True, blank=True, on_delete=models.SET_NULL, related_name="runs"
    )
    confirmation = models.ForeignKey(
        "dashboard.Confirmation",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="runs",
    )
    # The alert for whose report it runs (alerts/services/collecting.py); NULL: for nobody's
    evidence_of = models.ForeignKey(
        "dashboard.Alert",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="evidence_runs",
    )
    # Shared by the runs whose jobs are measured in turn; empty: it is measured by itself. Of an
    # import: the day on which its session began, where that is the day before (core/sessions.py)
    session = models.CharField(max_length=40, blank=True, default="", editable=False)
    schedule = models.ForeignKey(
        "dashboard.Schedule", null=True, blank=True, on_delete=models.SET_NULL, related_name="runs"
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.label or f"run {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("run", args=[self.pk])

    @property
    def trend_query(self) -> str:
        """Machine and track as part of a trend's address; imports are compared by release."""
        query = f"machine={self.machine.key}&track={self.track.key}"
        return f"{query}&axis=release" if self.purpose == Purpose.IMPORT else query


class Job(models.Model):
    """One case on one build on one machine, once, in one fresh process."""

    uuid = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="jobs")
    benchmark = models.ForeignKey(
        "dashboard.Benchmark", on_delete=models.PROTECT, related_name="jobs"
    )
    config = models.ForeignKey("dashboard.Config", on_delete=models.PROTECT, related_name="jobs")
    position = models.PositiveIntegerField(default=0)  # order within the run
    # Order among all that waits for the machine (runs/services/dispatch.py). The database has the
    # default, too: rows that a site adds which is not upgraded yet have none.
    turn = models.PositiveIntegerField(default=0, db_default=0)
    # The job file (job.v1) without attempt: what the worker is given
    spec = JSONField(default=dict)
    state = models.CharField(max_length=20, choices=JobState, default=JobState.PLANNED)
    status = models.CharField(max_length=30, choices=Status, blank=True)  # empty until it ended
    message = models.TextField(blank=True)  # why it failed, and what to do
    attempt = models.PositiveIntegerField(default=1)  # the only attempt that is accepted
    max_attempts = models.PositiveIntegerField(default=3)
    worker = models.ForeignKey(
        "dashboard.Worker", null=True, blank=True, on_delete=models.SET_NULL, related_name="jobs"
    )
    # The only worker that may take it (runs/services/binding.py); NULL: any of the machine
    bound_to = models.ForeignKey(
        "dashboard.Worker",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        db_index=False,
    )
    requirements = models.ForeignKey(  # what its environment was made from; none in an adopted one
        "dashboard.Requirements",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="jobs",
    )
    phase = models.CharField(max_length=40, blank=True)  # what the worker reported to be doing
    log_tail = models.TextField(blank=True)
    # Decides the partition of its data; never changes
    planned_at = models.DateTimeField()
    dispatched_at = models.DateTimeField(null=True, blank=True)  # when its message was last sent
    claimed_at = models.DateTimeField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["run", "position"]
        indexes = [
            models.Index(fields=["state", "lease_until"], name="job_lease"),
            models.Index(fields=["run", "state"], name="job_run_state"),
            models.Index(  # what waits in the database, in the order in which its messages are sent
                fields=["turn", "planned_at"],
                condition=models.Q(state=JobState.QUEUED, dispatched_at=None),
                name="job_due",
            ),
            models.Index(  # what waits in the broker
                fields=["run"],
                condition=models.Q(state=JobState.QUEUED, dispatched_at__isnull=False),
                name="job_out",
            ),
            models.Index(  # what waits for one worker
                fields=["bound_to", "state"],
                condition=models.Q(bound_to__isnull=False),
                name="job_bound",
            ),
            models.Index(fields=["finished_at"], name="job_finished"),
            # The order of the API's list, whose newest page it finds without sorting
            models.Index(fields=["planned_at", "uuid"], name="job_planned"),
            models.Index(  # how the cases of a build failed
                fields=["run"], condition=~models.Q(status__in=["", Status.PASS]), name="job_failed"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.benchmark.name} {self.config.name}"

    def get_absolute_url(self) -> str:
        return reverse("job", args=[self.pk])

    @property
    def outcome(self) -> str:
        """Its status; until it has one, its state."""
        return self.status or self.state


class Schedule(models.Model):
    """A run that triggers itself: what to measure, and the beat task that says when."""

    name = models.CharField(max_length=100, unique=True)
    enabled = models.BooleanField(default=True)
    crontab = models.ForeignKey(
        "django_celery_beat.CrontabSchedule", on_delete=models.PROTECT, related_name="+"
    )
    track = models.ForeignKey("dashboard.Track", on_delete=models.PROTECT, related_name="schedules")
    machine = models.ForeignKey(
        "dashboard.Machine", on_delete=models.PROTECT, related_name="schedules"
    )
    # [] = the default selection of the machine's size
    families = JSONField(default=list, blank=True)
    benchmarks = models.ManyToManyField("dashboard.Benchmark", blank=True, related_name="+")
    configs = models.ManyToManyField("dashboard.Config", blank=True, related_name="+")
    # Runs after which a build is measured enough; 0: never
    repeats = models.PositiveIntegerField(default=0)
    # Why it did not trigger a run when it was last due
    problem = models.TextField(blank=True, editable=False)
    periodic_task = models.OneToOneField(
        "django_celery_beat.PeriodicTask",
        null=True,
        blank=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
    )

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
