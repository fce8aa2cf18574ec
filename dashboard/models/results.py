"""Results, their environments, series and data, raw samples, artifacts, refusals.

``Datum`` is partitioned by month of ``planned_at`` in Postgres, made by the first migration. Django
does not manage its partitions: runs/services/partitions.py does.
"""

from django.db import models
from django.db.models.expressions import RawSQL

from dashboard.language.moments import stamp
from dashboard.models.fields import JSONField
from dashboard.models.runs import Purpose, Status

# Of the libraries those that make a benchmark's model, as "diffusers 0.42.1, transformers 5.17.0":
# triton and others belong to the build. Stored next to the document, which is large: rollups need
# it for every datum.
MODEL_LIBRARIES = RawSQL(
    "btrim(coalesce('diffusers ' || (document -> 'libraries' ->> 'diffusers'), '')"
    " || coalesce(', transformers ' || (document -> 'libraries' ->> 'transformers'), ''), ', ')",
    (),
)


class Environment(models.Model):
    """Environment that a result ran in; equal fingerprints are equal environments."""

    fingerprint = models.CharField(max_length=16, unique=True)
    document = JSONField()  # result.v1's `environment`
    libraries = models.GeneratedField(
        expression=MODEL_LIBRARIES, output_field=models.TextField(), db_persist=True
    )
    first_seen = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.fingerprint


class Result(models.Model):
    """The result document of a job, without its raw samples. At most one per job."""

    job = models.OneToOneField(
        "dashboard.Job", primary_key=True, on_delete=models.CASCADE, related_name="result"
    )
    attempt = models.PositiveIntegerField()
    status = models.CharField(max_length=30, choices=Status)
    # result.v1 without `samples`; for a job without one, {"outcome": ...}
    document = JSONField()
    # SHA-256 of the body: the same result twice is the same rows
    digest = models.CharField(max_length=64)
    environment = models.ForeignKey(
        Environment, null=True, on_delete=models.PROTECT, related_name="results"
    )
    # Which of its machine: UUID of the GPU, else the host's name
    device = models.CharField(max_length=200, blank=True)
    suite_version = models.CharField(max_length=40, blank=True)
    benchmark_version = models.PositiveIntegerField(default=1)
    received_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.status} of job {self.job_id}"


class Samples(models.Model):
    """Raw samples of one arm of one job: little-endian, zlib. Not kept as long as the data."""

    job = models.ForeignKey("dashboard.Job", on_delete=models.CASCADE, related_name="samples")
    arm = models.CharField(max_length=40)
    unit = models.CharField(max_length=10, default="ms")
    inner = models.PositiveIntegerField(default=1)  # steps in one sample
    count = models.PositiveIntegerField()
    values = models.BinaryField()  # float64: wall-clock per step
    cpu_ms = models.BinaryField(null=True)  # float64: CPU time per step of the same samples
    order = models.BinaryField(null=True)  # int32: place of each sample in the interleaved sequence
    planned_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "arm"], name="samples_one_per_arm")]

    def __str__(self) -> str:
        return f"{self.count} samples of {self.arm}"


class Series(models.Model):
    """case × machine × track × metric, with the rollup that pages read."""

    benchmark = models.ForeignKey(
        "dashboard.Benchmark", on_delete=models.PROTECT, related_name="series"
    )
    config = models.ForeignKey("dashboard.Config", on_delete=models.PROTECT, related_name="series")
    machine = models.ForeignKey(
        "dashboard.Machine", on_delete=models.PROTECT, related_name="series"
    )
    track = models.ForeignKey("dashboard.Track", on_delete=models.PROTECT, related_name="series")
    metric = models.CharField(max_length=60)  # key of a row of dashboard/language/metrics.py
    # Rollup, kept at ingest: the last datum by planned_at, and the count
    count = models.PositiveIntegerField(default=0)
    last_at = models.DateTimeField(null=True)
    last_job = models.ForeignKey(
        "dashboard.Job", null=True, on_delete=models.SET_NULL, related_name="+"
    )
    # What pages call newest (results/services/newest.py): of the newest build of the track that has
    # data, whenever these were measured; its last job, and the mean of its processes
    newest_build = models.ForeignKey(
        "dashboard.TorchBuild",
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,
    )
    newest_version = models.PositiveIntegerField(default=0)  # of the benchmark
    newest_at = models.DateTimeField(null=True)
    newest_job = models.ForeignKey(
        "dashboard.Job", null=True, on_delete=models.SET_NULL, related_name="+"
    )
    newest_status = models.CharField(max_length=30, choices=Status, blank=True)
    newest_processes = models.PositiveIntegerField(default=0)
    newest_value = models.FloatField(null=True)
    newest_low = models.FloatField(null=True)
    newest_high = models.FloatField(null=True)
    # Of the build before, under the same version of the benchmark
    previous_build = models.ForeignKey(
        "dashboard.TorchBuild",
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,
    )
    previous_value = models.FloatField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["benchmark", "config", "machine", "track", "metric"], name="series_identity"
            )
        ]
        # Pages read one machine and track
        indexes = [models.Index(fields=["machine", "track", "metric"], name="series_of_place")]

    def __str__(self) -> str:
        return f"{self.metric} of series {self.pk}"


class Datum(models.Model):
    """One value of a series from one job, with its interval.

    value is NULL where the case failed: status says how.
    """

    # Also the order in which pages read
    pk = models.CompositePrimaryKey("series_id", "planned_at", "job_id")
    series = models.ForeignKey(
        Series, on_delete=models.CASCADE, related_name="data", db_index=False
    )
    job = models.ForeignKey(
        "dashboard.Job", on_delete=models.CASCADE, related_name="data", db_index=False
    )
    planned_at = models.DateTimeField()
    # The job's run holds the build and the result the environment: if Postgres checked both again
    # for every datum, that would be a tenth of what storing a result costs.
    build = models.ForeignKey(
        "dashboard.TorchBuild",
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    environment = models.ForeignKey(
        Environment,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    purpose = models.CharField(max_length=20, choices=Purpose)
    status = models.CharField(max_length=30, choices=Status)
    benchmark_version = models.PositiveIntegerField(default=1)
    value = models.FloatField(null=True)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    count = models.PositiveIntegerField(default=0)  # samples it was made from

    class Meta:
        indexes = [models.Index(fields=["job"], name="datum_job")]

    def __str__(self) -> str:
        return f"{self.value} at {stamp(self.planned_at)}"


class Artifact(models.Model):
    """A file that a job left: generated code, a trace. The bytes lie in the artifact storage."""

    job = models.ForeignKey("dashboard.Job", on_delete=models.CASCADE, related_name="artifacts")
    name = models.CharField(max_length=100)
    file = models.FileField(upload_to="artifacts/%Y/%m/")
    size_bytes = models.PositiveBigIntegerField()
    digest = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "name"], name="artifact_one_per_name")
        ]

    def __str__(self) -> str:
        return self.name


class RefusedResult(models.Model):
    """A result that could not be taken in; its beginning, for a month."""

    job = models.ForeignKey(
        "dashboard.Job", null=True, on_delete=models.SET_NULL, related_name="refused_results"
    )
    source = models.CharField(max_length=200)  # worker or file name
    reason = models.TextField()
    body = models.BinaryField()  # cut
    received_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.reason[:100]
