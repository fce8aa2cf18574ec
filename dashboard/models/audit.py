"""Log of who changed what: one row for each request that was not only reading."""

from django.conf import settings
from django.db import models

from dashboard.models.fields import JSONField


class Change(models.Model):
    """A request of a person that was not only reading, and how it ended: accounts/audit.py."""

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    name = models.CharField(max_length=150)  # the account's, which outlives it
    with_token = models.BooleanField(default=False)  # over the API, not in a browser
    method = models.CharField(max_length=10)
    path = models.CharField(max_length=300)
    asked = JSONField(default=dict)  # what was sent, secrets left out
    status = models.PositiveSmallIntegerField()  # of the answer
    address = models.GenericIPAddressField(null=True)

    class Meta:
        ordering = ["-at", "-pk"]

    def __str__(self) -> str:
        return f"{self.name}: {self.method} {self.path}"
