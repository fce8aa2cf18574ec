"""Factorials: several factors exchanged at once, to see which one moved a number."""

import uuid

from django.conf import settings
from django.db import models
from django.urls import reverse

from dashboard.models.fields import JSONField


class Factorial(models.Model):
    """One case in every combination of two or three factors' levels, measured in turn.

    Its runs point at it, one for each arm and session.
    """

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)  # its own URL
    label = models.CharField(max_length=200, blank=True)
    machine = models.ForeignKey(
        "dashboard.Machine", on_delete=models.PROTECT, related_name="factorials"
    )
    benchmark = models.ForeignKey("dashboard.Benchmark", on_delete=models.PROTECT, related_name="+")
    config = models.ForeignKey("dashboard.Config", on_delete=models.PROTECT, related_name="+")
    repeats = models.PositiveIntegerField(default=3)  # rounds: processes of each arm
    # [{"name": "torch", "levels": ["2.11.0", "2.13.0"]}]; the others are compared with the first
    factors = JSONField(default=list)
    # [{"cell": [0, 1], "build": label, "libraries": as Run.libraries}]
    arms = JSONField(default=list)
    # [{"cell": [1, 1], "why": "..."}], combinations that cannot be measured
    excluded = JSONField(default=list)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        names = " × ".join(factor["name"] for factor in self.factors)
        return self.label or f"{names}: {self.benchmark} {self.config}"

    def get_absolute_url(self) -> str:
        return reverse("factorial", args=[self.uuid])
