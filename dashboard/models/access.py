"""Tokens of the API, with which people call without a browser."""

from django.conf import settings
from django.db import models

from dashboard.models.fields import JSONField


class Scope(models.TextChoices):
    """Use that a token allows. It never allows more than its owner may."""

    READ = "read", "read everything that the pages show"
    TRIGGER = "trigger", "trigger, cancel and retry runs, comparisons and bisections"
    TRIAGE = "triage", "do with alerts what their pages allow"
    WRITE = "write", "post results"


class ApiToken(models.Model):
    """A person's key to the API; only its hash is kept. accounts/services/api_tokens.py."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens"
    )
    name = models.CharField(max_length=80)  # where it is used
    # SHA-256, as with Worker
    token_hash = models.CharField(max_length=64, unique=True, editable=False)
    scopes = JSONField()  # words of Scope, in their order
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)  # to within a minute

    class Meta:
        ordering = ["-created_at"]
        verbose_name = "API token"

    def __str__(self) -> str:
        return f"{self.name} of {self.owner}"

    def allows(self, scope: str) -> bool:
        """Test whether it may be used for this. What its owner may do has to be checked as well."""
        return scope in self.scopes
