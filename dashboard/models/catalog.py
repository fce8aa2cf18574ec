"""Catalog of what can be measured, with what, where.

It has benchmarks, configs, torch builds, tracks and machines.
"""

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models

from dashboard.language.metrics import EAGER
from dashboard.models.fields import JSONField

TRACK_KEY = RegexValidator(
    r"^[a-z0-9][a-z0-9._-]*$", "Use lower-case letters, digits and . _ - as in pinned-2.11."
)

GIT_ADDRESS = RegexValidator(
    r"^(https://[A-Za-z0-9][^@/ ]*/"
    r"|ssh://([A-Za-z0-9][A-Za-z0-9._-]*@)?[A-Za-z0-9][^@/ ]*/"
    r"|file:///"
    r"|git@[A-Za-z0-9][A-Za-z0-9.-]*:)[^ ]+$",
    "Write an address that begins with https://, ssh://, file:// or git@host:, without "
    "credentials.",
)
GIT_COMMIT = RegexValidator(
    r"^([0-9a-f]{40}|[0-9a-f]{64})$",
    "Write the full hash of the commit: git ls-remote ADDRESS HEAD prints it.",
)


class ModelRepository(models.Model):
    """A git repository of own models, pinned to a commit, whose code workers run."""

    key = models.SlugField(max_length=60, unique=True)
    url = models.CharField("address", max_length=500, validators=[GIT_ADDRESS])
    commit = models.CharField(max_length=64, validators=[GIT_COMMIT])
    # One more with each commit: the version
    revision = models.PositiveIntegerField(default=1, editable=False)
    # The newest that a worker has read
    read_revision = models.PositiveIntegerField(default=0, editable=False)
    read_by = models.CharField(max_length=120, blank=True, editable=False)
    # What that worker could not read, with tracebacks
    problem = models.TextField(blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["key"]
        verbose_name_plural = "model repositories"

    def __str__(self) -> str:
        return self.key


def described_by() -> "models.ForeignKey[Machine | None]":
    """The machine whose workers describe the row: others add rows and leave this one as it is.

    None: the site's own administrators describe it, or nobody yet.
    """
    return models.ForeignKey(
        "dashboard.Machine",
        null=True,
        blank=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
    )


class Benchmark(models.Model):
    """Workload, fixed while the software under it changes: `benchmarks_suite list --json`."""

    name = models.CharField(max_length=200, unique=True)  # model.size.mode.dtype.shapes.bN
    # a change of what it does: a new segment of its series
    version = models.PositiveIntegerField(default=1)
    model = models.CharField(max_length=80, db_index=True)
    family = models.CharField(max_length=40, db_index=True)
    size = models.CharField(max_length=40)
    mode = models.CharField(max_length=40)
    dtype = models.CharField(max_length=40)
    shapes = models.CharField(max_length=40)
    batch_size = models.PositiveIntegerField()
    item = models.CharField(max_length=40, default="samples")  # the unit of throughput
    # What the model is, as its file says; empty where only results are known
    about = models.TextField(blank=True, default="", db_default="")
    # Its place in the registry: cheap, informative ones first
    position = models.PositiveIntegerField(default=0)
    # Configs that a default run measures; [] = not in it
    default_configs = JSONField(default=list)
    # Not in the registry (any more): never planned; its history stays
    retired = models.BooleanField(default=False)
    brought_by = described_by()
    # Known from imported results alone: retired, and yet shown
    imported = models.BooleanField(default=False)
    # What their files call it, in full
    original = models.TextField(blank=True, default="", db_default="")
    # Key -> what their files call the config, of keys from before whole names were kept; empty: the
    # next that would have had it
    imported_configs = JSONField(default=dict, db_default={}, blank=True, editable=False)
    # Of own models: where they come from, or else the only machines whose workers have them
    # ([] = every machine)
    repository = models.ForeignKey(
        ModelRepository, null=True, blank=True, on_delete=models.SET_NULL, related_name="benchmarks"
    )
    machines = JSONField(default=list, blank=True)

    class Meta:
        ordering = ["position", "name"]

    def __str__(self) -> str:
        return self.name


class OwnRevision(models.Model):
    """An own model's file as it once was: its data are a segment of their own.

    What the benchmark measured under `number` is what this version and file measured.
    """

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()  # as `benchmark_version` of its data
    version = models.PositiveIntegerField()  # VERSION in the file, or the repository's revision
    file_hash = models.CharField(max_length=16)
    first_at = models.DateTimeField()  # when its first job was planned

    class Meta:
        ordering = ["benchmark", "number"]
        constraints = [
            models.UniqueConstraint(
                fields=["benchmark", "version", "file_hash"], name="own_revision_of_file"
            ),
            models.UniqueConstraint(fields=["benchmark", "number"], name="own_revision_number"),
        ]

    def __str__(self) -> str:
        return f"revision {self.number} of {self.benchmark}"


class Config(models.Model):
    """A named way to execute a benchmark: eager, inductor, regional ..."""

    name = models.CharField(max_length=60, unique=True)
    label = models.CharField(max_length=100)
    about = models.TextField(blank=True)
    position = models.PositiveIntegerField(default=0)
    retired = models.BooleanField(default=False)
    brought_by = described_by()

    class Meta:
        ordering = ["position", "name"]

    def __str__(self) -> str:
        return self.name

    @property
    def with_control(self) -> list[str]:
        """Its name and that of the eager control, as a trend shows them together."""
        return [self.name] if self.name == EAGER else [self.name, EAGER]


class Machine(models.Model):
    """A class of identical hardware, and the queue its workers take jobs from."""

    key = models.SlugField(max_length=60, unique=True)  # h200, cpu-2c
    label = models.CharField(max_length=200, blank=True)
    device_kind = models.CharField(max_length=10, choices=[("cpu", "CPU"), ("cuda", "CUDA GPU")])
    default_size = models.CharField(max_length=40, default="smoke")  # which benchmark size suits it
    hidden = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Left out of choices, lists and defaults. Its results stay, and addresses that "
        "name it still show them.",
    )
    # `timeout_s` of its jobs
    timeout_s = models.PositiveIntegerField(
        "time limit of a job, s",
        default=900,
        db_default=900,
        validators=[MinValueValidator(1), MaxValueValidator(86_400)],
        help_text="A job that takes longer is stopped and ends as timeout. Raise it for a slow "
        "machine, large models or max-autotune.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["key"]

    def __str__(self) -> str:
        return self.key

    @property
    def queue(self) -> str:
        return f"machine.{self.key}"


class TorchBuild(models.Model):
    """One installable PyTorch, or a variant of one."""

    class Channel(models.TextChoices):
        RELEASE = "release"
        NIGHTLY = "nightly"
        SOURCE = "source"
        TEST = "test", "release candidate"

    label = models.CharField(max_length=200, unique=True)  # 2.13.0+cpu; a variant adds its name
    version = models.CharField(max_length=80)
    base = models.ForeignKey(  # of a variant: the build whose environment it runs in
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="variants"
    )
    # job.v1's `variant`: env, inductor; {} for a plain build
    variant = JSONField(default=dict, blank=True)
    git_sha = models.CharField(max_length=80, blank=True)
    cuda = models.CharField(max_length=40, blank=True)
    triton = models.CharField(max_length=40, blank=True)
    channel = models.CharField(max_length=20, choices=Channel, default=Channel.RELEASE)
    released_on = models.DateField(null=True, blank=True)
    # The Python range of its wheels, as `Requires-Python`
    python = models.CharField(max_length=80, blank=True)
    # Where it is installed from; "" = the worker's own index
    index_url = models.URLField(max_length=500, blank=True)
    adopted = models.BooleanField(default=False)  # the worker found it there and never installs it
    # File -> SHA-256 of the wheels that a release candidate is: the index replaces them under one
    # name
    wheel_hashes = JSONField(default=dict, db_default={}, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.label


class Track(models.Model):
    """A named stream of builds that is followed."""

    class Kind(models.TextChoices):
        LOCAL = "local"  # whatever torch the worker has
        STABLE = "stable"  # the newest release
        NIGHTLY = "nightly"
        PINNED = "pinned"  # never moves: the control that shows when the machine moved
        VERSIONS = "versions"  # builds side by side: comparisons, bisections, imports
        TEST = "test", "release candidates"  # each is compared with the newest release

    # local, stable, nightly, pinned-2.11
    key = models.CharField(max_length=60, unique=True, validators=[TRACK_KEY])
    label = models.CharField(max_length=200, blank=True)
    kind = models.CharField(max_length=20, choices=Kind, default=Kind.LOCAL)
    build = models.ForeignKey(  # where it stands now
        TorchBuild, null=True, blank=True, on_delete=models.PROTECT, related_name="tracks"
    )
    # Of release candidates: where they are compared, and of which families. Empty: on every machine
    # with a worker, the default selection
    machines = models.ManyToManyField(Machine, blank=True, related_name="+")
    families = JSONField(default=list, db_default=[], blank=True)
    hidden = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Left out of choices, lists and defaults. Its results stay, and addresses that "
        "name it still show them.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["key"]

    def __str__(self) -> str:
        return self.key
