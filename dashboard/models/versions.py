"""Builds side by side: what is installed where, comparisons and bisections of two builds."""

import uuid

from django.conf import settings
from django.db import models
from django.urls import reverse

from dashboard.language.questions import question
from dashboard.models.fields import JSONField


class Requirements(models.Model):
    """The pinned requirements of a build with its libraries on one platform.

    The first resolution found them; every later environment of the same build, libraries and
    platform is made from the same set.
    """

    build = models.ForeignKey(
        "dashboard.TorchBuild", on_delete=models.CASCADE, related_name="requirements"
    )
    libraries = JSONField(default=dict)  # as Run.libraries
    platform = models.CharField(max_length=80)  # linux_x86_64-cp311
    text = models.TextField()  # requirements.txt, every version pinned
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "requirements"
        constraints = [
            models.UniqueConstraint(
                fields=["build", "libraries", "platform"], name="requirements_one_per_platform"
            )
        ]

    def __str__(self) -> str:
        return f"{self.build} on {self.platform}"


class InstalledEnvironment(models.Model):
    """A virtual environment on a worker, as that worker reports it."""

    class State(models.TextChoices):
        BUILDING = "building"
        READY = "ready"
        FAILED = "failed"  # message has the resolver's or installer's own words
        DAMAGED = "damaged"  # its check failed later; it is made again before it is used
        EVICTED = "evicted"

    worker = models.ForeignKey(
        "dashboard.Worker", on_delete=models.CASCADE, related_name="environments"
    )
    key = models.CharField(max_length=64)  # the folder's name on the worker
    build = models.ForeignKey(
        "dashboard.TorchBuild", on_delete=models.CASCADE, related_name="environments"
    )
    libraries = JSONField(default=dict)
    state = models.CharField(max_length=20, choices=State)
    adopted = models.BooleanField(default=False)
    message = models.TextField(blank=True)
    size_mb = models.PositiveIntegerField(null=True)
    last_used = models.DateTimeField(null=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["worker", "key"], name="environment_one_per_key")
        ]

    def __str__(self) -> str:
        return f"{self.build} on {self.worker}: {self.state}"


class Comparison(models.Model):
    """Two builds measured in turn, A B A B, on one machine under one library set.

    Its runs point at it.
    """

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)  # its own URL
    label = models.CharField(max_length=200, blank=True)
    base = models.ForeignKey("dashboard.TorchBuild", on_delete=models.PROTECT, related_name="+")
    new = models.ForeignKey("dashboard.TorchBuild", on_delete=models.PROTECT, related_name="+")
    machine = models.ForeignKey(
        "dashboard.Machine", on_delete=models.PROTECT, related_name="comparisons"
    )
    repeats = models.PositiveIntegerField(default=2)  # processes per case and build
    request = JSONField(default=dict)  # as Run.request
    libraries = JSONField(default=dict)  # the newest set that both builds take
    # Whether what was suspected when its runs had ended was measured again, or nothing was
    is_settled = models.BooleanField(default=False, editable=False)
    # Of release candidates, which started it; null: a person did
    track = models.ForeignKey(
        "dashboard.Track",
        null=True,
        blank=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="comparisons",
    )
    # When the rules decided who is notified of a candidate's verdicts; null = not yet
    considered_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["track", "new", "machine"], name="candidate_compared_once"
            )
        ]

    def __str__(self) -> str:
        return self.label or f"{self.base} → {self.new}"

    def get_absolute_url(self) -> str:
        return reverse("comparison", args=[self.uuid])

    @property
    def question(self) -> str:
        return question(str(self.base), str(self.new), f"on {self.machine}")


class Bisection(models.Model):
    """The search for the pair of neighbouring builds between which one case changed."""

    class State(models.TextChoices):
        RUNNING = "running"
        FOUND = "found"
        INCONCLUSIVE = "inconclusive"  # the budget ended before the verdicts did
        FAILED = "failed"
        CANCELLED = "cancelled"

    base = models.ForeignKey("dashboard.TorchBuild", on_delete=models.PROTECT, related_name="+")
    new = models.ForeignKey("dashboard.TorchBuild", on_delete=models.PROTECT, related_name="+")
    machine = models.ForeignKey(
        "dashboard.Machine", on_delete=models.PROTECT, related_name="bisections"
    )
    benchmark = models.ForeignKey("dashboard.Benchmark", on_delete=models.PROTECT, related_name="+")
    config = models.ForeignKey("dashboard.Config", on_delete=models.PROTECT, related_name="+")
    metric = models.CharField(max_length=60)
    state = models.CharField(max_length=20, choices=State, default=State.RUNNING)
    # Where the search stands: the newest build known to be like base, the oldest like new
    low = models.ForeignKey("dashboard.TorchBuild", on_delete=models.PROTECT, related_name="+")
    high = models.ForeignKey("dashboard.TorchBuild", on_delete=models.PROTECT, related_name="+")
    # [{build, verdict: like_base | like_new | unclear (once: unknown), effect, low, high, repeats}]
    steps = JSONField(default=list)
    message = models.TextField(blank=True)
    # The alert that started it; null: a person did
    group = models.ForeignKey(
        "dashboard.AlertGroup",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="bisections",
    )
    is_recorded = models.BooleanField(default=False)  # the alert's history says how it ended
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.benchmark} {self.config} between {self.base} and {self.new}"

    def get_absolute_url(self) -> str:
        return reverse("bisection", args=[self.pk])


class BuildLevel(models.Model):
    """Measurements of one build in one series: the rollup of pages that compare builds.

    A row for each benchmark version, set of model libraries, device and session; kept at ingest by
    results/services/levels.py. Statistics of data that passed: comparisons/core/levels.py says what
    they mean.
    """

    pk = models.CompositePrimaryKey(
        "series_id", "build_id", "benchmark_version", "libraries", "device", "session"
    )
    series = models.ForeignKey(
        "dashboard.Series", on_delete=models.CASCADE, related_name="levels", db_index=False
    )
    build = models.ForeignKey(
        "dashboard.TorchBuild", on_delete=models.CASCADE, related_name="+", db_index=False
    )
    benchmark_version = models.PositiveIntegerField()
    libraries = models.CharField(max_length=200)  # "diffusers 0.42.1, transformers 5.17.0"
    device = models.CharField(max_length=200)  # as Result.device
    session = models.CharField(max_length=40)  # as Run.session; of imports the day
    # Of the series, so that a page reads one range of one index
    machine_id = models.BigIntegerField()
    track_id = models.BigIntegerField()
    benchmark_id = models.BigIntegerField()
    config_id = models.BigIntegerField()
    metric = models.CharField(max_length=60)
    count = models.PositiveIntegerField()  # processes
    log_mean = models.FloatField(null=True)  # NULL where a value is not positive
    log_m2 = models.FloatField(null=True)
    within = models.FloatField(null=True)
    # Data that have an interval: what `within` is the mean of
    intervals = models.PositiveIntegerField()
    least = models.FloatField()
    most = models.FloatField()
    mean = models.FloatField()
    job = models.UUIDField()  # the newest

    class Meta:
        indexes = [models.Index(fields=["machine_id", "build", "metric"], name="level_of_build")]

    def __str__(self) -> str:
        return f"{self.metric} of series {self.series_id} on build {self.build_id}"
