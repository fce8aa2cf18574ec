"""The models that a person depends on."""

from dashboard.models import StarredModel


def of_user(user_id: int | None) -> frozenset[str]:
    """Their names. One query, none for a stranger."""
    if user_id is None:
        return frozenset()
    return frozenset(StarredModel.objects.filter(user=user_id).values_list("model", flat=True))
