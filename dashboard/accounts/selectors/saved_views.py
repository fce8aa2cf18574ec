"""A person's saved views."""

from django.db.models import QuerySet

from dashboard.models import SavedView


def of_user(user_id: int | None) -> QuerySet[SavedView]:
    """By name. One query."""
    if user_id is None:
        return SavedView.objects.none()
    return SavedView.objects.filter(user=user_id)


def default_address(user_id: int | None) -> str:
    """Where the person comes in; empty: at the overview. One query."""
    default = of_user(user_id).filter(is_default=True)
    return default.values_list("address", flat=True).first() or ""
