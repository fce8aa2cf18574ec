"""People with an account."""

from typing import Any

from django.contrib.auth.models import User

from dashboard.accounts.services.roles import Role, assign


def viewer(name: str, **fields: Any) -> User:
    """Somebody who may look at everything and change nothing."""
    person = User.objects.create_user(name, **fields)
    assign(user=person, role=Role.VIEWER)
    return person
