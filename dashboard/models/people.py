"""What belongs to one person."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Lower


class SavedView(models.Model):
    """A page as somebody wants to see it again: its address under a name."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views"
    )
    name = models.CharField(max_length=80)
    address = models.CharField(max_length=2000)  # path and query of a page of this site
    # Opened instead of the overview when the person comes in
    is_default = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = [Lower("name")]
        constraints = [
            models.UniqueConstraint("user", Lower("name"), name="saved_view_one_per_name"),
            models.UniqueConstraint(
                fields=["user"], condition=models.Q(is_default=True), name="saved_view_one_default"
            ),
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
