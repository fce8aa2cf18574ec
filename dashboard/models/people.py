"""Rows that belong to people: their views and stars, their families, their remarks."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Lower


class SavedView(models.Model):
    """A page that somebody saved under a name, when the site still offered that."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views"
    )
    name = models.CharField(max_length=80)
    address = models.CharField(max_length=2000)  # path and query of a page of this site
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = [Lower("name")]
        constraints = [
            models.UniqueConstraint("user", Lower("name"), name="saved_view_one_per_name"),
        ]

    def __str__(self) -> str:
        return self.name


class StarredModel(models.Model):
    """A model that somebody depends on: pages can show those alone."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="starred_models"
    )
    model = models.CharField(max_length=200)  # as benchmarks name it

    class Meta:
        ordering = ["model"]
        constraints = [
            models.UniqueConstraint(fields=["user", "model"], name="starred_model_once"),
        ]

    def __str__(self) -> str:
        return self.model


class FamilyOwner(models.Model):
    """Person who looks after the models of a family: alerts about it are assigned to them."""

    family = models.CharField(max_length=40, unique=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="owned_families"
    )

    class Meta:
        ordering = ["family"]

    def __str__(self) -> str:
        return f"{self.family}: {self.owner}"


class Annotation(models.Model):
    """A remark on the trend of a benchmark, by anyone signed in."""

    benchmark = models.ForeignKey(
        "dashboard.Benchmark", on_delete=models.CASCADE, related_name="annotations"
    )
    at = models.DateTimeField()  # the place on the time axis
    text = models.CharField(max_length=300)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["at"]

    def __str__(self) -> str:
        return self.text[:100]
