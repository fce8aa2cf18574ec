"""Workers, which measure: each one is a process that owns one device of a machine."""

from django.db import models

from dashboard.models.fields import JSONField


class Worker(models.Model):
    """One process that owns one device. It signs in with a token of which only the hash is kept."""

    name = models.SlugField(max_length=80, unique=True)
    machine = models.ForeignKey(
        "dashboard.Machine", on_delete=models.PROTECT, related_name="workers"
    )
    # SHA-256: the token has 256 random bits, so no salt is needed. NULL: revoked.
    token_hash = models.CharField(max_length=64, unique=True, null=True, blank=True, editable=False)
    # New with each process: its old claims are void
    boot_id = models.CharField(max_length=64, blank=True)
    device = models.CharField(max_length=40, blank=True)  # cpu, cuda:0
    facts = JSONField(default=dict)  # what it reported of itself: host, versions, devices
    paused = models.BooleanField(default=False)
    # Which disk has no room for a job, as it reports: it begins none until there is room again
    full_disk = models.CharField(max_length=300, blank=True, db_default="", default="")
    # Who has the device for which a job of its waits, as it reports: "process 77 in /srv/other"
    device_holder = models.CharField(max_length=300, blank=True, db_default="", default="")
    created_at = models.DateTimeField(auto_now_add=True)
    last_seen = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def obstacle(self) -> str:
        """Reason why it begins no job; empty where nothing keeps it from that."""
        if self.full_disk or not self.device_holder:
            return self.full_disk
        return f"Waits for the device, held by {self.device_holder}."

    @property
    def queue(self) -> str:
        """Queue of the jobs that are bound to it; it takes those of its machine's queue, too."""
        return f"{self.machine.queue}.{self.name}"
