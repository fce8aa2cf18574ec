"""Notifications: who is notified of what, where, and what became of each message."""

from django.conf import settings
from django.db import models

from dashboard.models.alert_words import Severity
from dashboard.models.fields import JSONField


class Subject(models.TextChoices):
    """Subject that a rule reports."""

    ALERTS = "alerts", "Alerts: what changed"
    HAND_OVERS = "hand_overs", "Hand-overs from one person to another"
    CANDIDATES = "candidates", "Release candidates: worse, better or the same"


class Channel(models.Model):
    """An address that messages go to: an Apprise URL, or our own signed webhook."""

    name = models.CharField(max_length=100, unique=True)
    # Apprise URL, or webhook+https://…; may hold a secret: never shown whole
    url = models.CharField(max_length=1000)
    secret = models.CharField(max_length=200, blank=True)  # signs the webhook's body (HMAC-SHA256)
    enabled = models.BooleanField(default=True)
    problem = models.TextField(blank=True)  # why it was disabled
    # Whose own it is: what concerns this person goes there, whatever the rules say
    person = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="channel",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Rule(models.Model):
    """Rule that sends events to channels, at once or as a digest. Empty lists mean all.

    `states` narrows alerts alone.
    """

    class When(models.TextChoices):
        AT_ONCE = "at_once"
        DAILY = "daily"
        WEEKLY = "weekly"

    name = models.CharField(max_length=100, unique=True)
    enabled = models.BooleanField(default=True)
    channels = models.ManyToManyField(Channel, related_name="rules")
    # Of Subject; [] = alerts alone
    subjects = JSONField(default=list, db_default=[], blank=True)
    families = JSONField(default=list, blank=True)
    model_names = JSONField(default=list, blank=True)
    metric_keys = JSONField(default=list, blank=True)
    machines = models.ManyToManyField("dashboard.Machine", blank=True, related_name="+")
    tracks = models.ManyToManyField("dashboard.Track", blank=True, related_name="+")
    minimum_effect_percent = models.FloatField(default=0)
    minimum_severity = models.CharField(max_length=20, choices=Severity, default=Severity.LOW)
    # Of AlertState; [] = confirmed and recovered
    states = JSONField(default=list, blank=True)
    improvements = models.BooleanField(default=False)
    when = models.CharField(max_length=20, choices=When, default=When.AT_ONCE)
    at = models.TimeField(null=True, blank=True)  # of a digest
    weekday = models.PositiveSmallIntegerField(null=True, blank=True)  # 0 = Monday
    time_zone = models.CharField(max_length=60, default="UTC")
    last_digest_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Delivery(models.Model):
    """One message for one channel: at most one per event, or per digest.

    Claimed by one conditional update.
    """

    class State(models.TextChoices):
        WAITING = "waiting"
        SENDING = "sending"
        SENT = "sent"
        FAILED = "failed"  # its retries are spent

    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="deliveries")
    event = models.ForeignKey(
        "dashboard.AlertEvent", null=True, on_delete=models.CASCADE, related_name="deliveries"
    )
    comparison = models.ForeignKey(  # of a release candidate, which has ended
        "dashboard.Comparison", null=True, on_delete=models.CASCADE, related_name="deliveries"
    )
    # "<rule> <period>" of a digest; "" for the others
    digest = models.CharField(max_length=100, blank=True)
    state = models.CharField(max_length=20, choices=State, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True)
    answer = models.TextField(blank=True)  # what the channel answered
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]
        verbose_name_plural = "deliveries"
        constraints = [
            models.UniqueConstraint(
                fields=["channel", "event", "comparison", "digest"],
                name="delivery_once",
                nulls_distinct=False,
            )
        ]
        indexes = [models.Index(fields=["state", "next_at"], name="delivery_due")]

    def __str__(self) -> str:
        return f"{self.state} to {self.channel}"
