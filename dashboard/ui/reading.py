"""Who may read the site."""

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser


def may_read(user: AbstractBaseUser | AnonymousUser) -> bool:
    """On a public site everybody, else whoever has a role."""
    has_role = user.has_module_perms("dashboard")  # type: ignore[union-attr]
    return bool(settings.PUBLIC_READ or has_role)
