"""Owners of families: people who look after their models."""

from collections import Counter

from dashboard.models import AlertGroup, FamilyOwner


def owner_of(group: AlertGroup) -> FamilyOwner | None:
    """Find the owner of the family that most of the group's series belong to and that somebody who
    can sign in looks after. Two queries.
    """
    families = Counter(group.alerts.values_list("series__benchmark__family", flat=True))
    owners = FamilyOwner.objects.filter(family__in=families, owner__is_active=True)
    listed = list(owners.select_related("owner"))
    return max(listed, key=lambda owned: families[owned.family], default=None)
