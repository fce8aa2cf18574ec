"""Permission to read the site."""

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, PermissionsMixin


def may_read(user: AbstractBaseUser | AnonymousUser) -> bool:
    """On a public site everybody, else whoever has a role.

    Roles are groups, whose permissions one query reads; those of the account itself take another.
    """
    if settings.PUBLIC_READ:
        return True
    if not isinstance(user, PermissionsMixin) or not user.is_active:
        return False
    if user.is_superuser:
        return True
    for permissions_of in (user.get_group_permissions, user.get_user_permissions):
        if any(permission.startswith("dashboard.") for permission in permissions_of()):
            return True
    return False
