"""Roles, which say who may do what: four, each a group with the permissions of the table below.

Every migration sets them. Each role may do everything that the one before it may. People may also
make groups of their own.
"""

from collections.abc import Mapping
from enum import StrEnum

from django.contrib.auth.models import Group, Permission, User
from django.db.models import Q, QuerySet


class Role(StrEnum):
    """The groups' names, the least powerful first."""

    VIEWER = "viewer"  # looks at everything
    TRIAGER = "triager"  # does with alerts what their pages allow
    # Triggers, schedules and cancels; describes builds, tracks and machines; pauses workers
    OPERATOR = "operator"
    ADMIN = "admin"  # accounts, tokens, channels, the scheduler's tables


STAFF = (Role.OPERATOR, Role.ADMIN)  # who gets into the admin
# What a role may do beyond the one before it: permissions of this app; "*" stands for any word.
# An admin has all permissions of ADMIN_APPS.
TABLE: Mapping[Role, tuple[str, ...]] = {
    Role.VIEWER: ("view_*",),
    Role.TRIAGER: (
        "change_alertgroup",
        "change_annotation",
        "delete_annotation",
        "change_mute",
        "change_invalidpoint",
    ),
    Role.OPERATOR: (
        "add_run",
        "change_run",
        "add_result",
        "add_comparison",
        "change_comparison",
        "add_bisection",
        "change_bisection",
        "*_schedule",
        "*_torchbuild",
        "*_track",
        "change_machine",
        "change_worker",
        "change_job",
    ),
}
ADMIN_APPS = ("dashboard", "auth", "django_celery_beat", "admin", "axes")


def ensure_roles() -> None:
    """Make the four groups what the table says."""
    allowed: set[int] = set()
    for role in Role:
        allowed |= set(_permissions(role).values_list("pk", flat=True))
        group, _ = Group.objects.get_or_create(name=role)
        group.permissions.set(allowed)


def _permissions(role: Role) -> QuerySet[Permission]:
    if role == Role.ADMIN:
        return Permission.objects.filter(content_type__app_label__in=ADMIN_APPS)
    is_listed = Q()
    for pattern in TABLE[role]:
        is_listed |= Q(codename__regex=f"^{pattern.replace('*', '[a-z]+')}$")
    return Permission.objects.filter(is_listed, content_type__app_label="dashboard")


def assign(*, user: User, role: Role) -> None:
    """Give somebody this role and no other."""
    user.groups.remove(*user.groups.filter(name__in=list(Role)))
    user.groups.add(Group.objects.get(name=role))
    open_admin(user=user)


def open_admin(*, user: User) -> None:
    """Let somebody into the admin, or lock them out, by their roles; no role: no change."""
    roles = set(user.groups.filter(name__in=list(Role)).values_list("name", flat=True))
    if roles and not user.is_superuser:
        user.is_staff = bool(roles & set(STAFF))
        user.save(update_fields=["is_staff"])
