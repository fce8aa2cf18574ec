"""What can be measured, with what, where: benchmarks, configs, torch builds, tracks, machines."""

from django.db import models


class Benchmark(models.Model):
    """What is fixed while the software under it changes. From `python -m benchmarks_suite list --json`."""

    name = models.CharField(max_length=200, unique=True)  # model.size.mode.dtype.shapes.bN
    version = models.PositiveIntegerField(default=1)  # a change of what it does: a new segment of its series
    model = models.CharField(max_length=80, db_index=True)
    family = models.CharField(max_length=40, db_index=True)
    size = models.CharField(max_length=40)
    mode = models.CharField(max_length=40)
    dtype = models.CharField(max_length=40)
    shapes = models.CharField(max_length=40)
    batch_size = models.PositiveIntegerField()
    item = models.CharField(max_length=40, default="samples")  # the unit of throughput
    position = models.PositiveIntegerField(default=0)  # its place in the registry: cheap, telling ones first
    default_configs = models.JSONField(default=list)  # configs that a default run measures; [] = not in it
    retired = models.BooleanField(default=False)  # no longer in the registry; its history stays

    class Meta:
        ordering = ["position", "name"]

    def __str__(self) -> str:
        return self.name


class Config(models.Model):
    """A named way to execute a benchmark: eager, inductor, regional ..."""

    name = models.CharField(max_length=60, unique=True)
    label = models.CharField(max_length=100)
    about = models.TextField(blank=True)
    position = models.PositiveIntegerField(default=0)
    retired = models.BooleanField(default=False)

    class Meta:
        ordering = ["position", "name"]

    def __str__(self) -> str:
        return self.name


class Machine(models.Model):
    """A class of identical hardware, and the queue its workers take jobs from."""

    key = models.SlugField(max_length=60, unique=True)  # h200, cpu-2c
    label = models.CharField(max_length=200, blank=True)
    device_kind = models.CharField(max_length=10, choices=[("cpu", "CPU"), ("cuda", "CUDA GPU")])
    default_size = models.CharField(max_length=40, default="smoke")  # which benchmark size suits it
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

    label = models.CharField(max_length=200, unique=True)  # 2.13.0+cpu; a variant adds its name
    version = models.CharField(max_length=80)
    git_sha = models.CharField(max_length=80, blank=True)
    cuda = models.CharField(max_length=40, blank=True)
    triton = models.CharField(max_length=40, blank=True)
    channel = models.CharField(max_length=20, choices=Channel, default=Channel.RELEASE)
    released_on = models.DateField(null=True, blank=True)
    adopted = models.BooleanField(default=False)  # the worker found it there and never installs it
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.label


class Track(models.Model):
    """A named stream of builds that is followed."""

    key = models.SlugField(max_length=60, unique=True)  # local, stable, nightly, pinned-2.11
    label = models.CharField(max_length=200, blank=True)
    build = models.ForeignKey(  # where it stands now
        TorchBuild, null=True, blank=True, on_delete=models.PROTECT, related_name="tracks"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["key"]

    def __str__(self) -> str:
        return self.key
