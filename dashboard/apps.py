"""The site's one Django app."""

from datetime import datetime

from django.apps import AppConfig
from django.apps import apps as installed
from django.apps.registry import Apps
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.signals import post_migrate
from psycopg import adapters
from psycopg.types.numeric import Int2, Int2Dumper, Int4, Int4Dumper, Int8, Int8Dumper

from dashboard.language.reading import check_moment
from dashboard.site.logs import configure_structlog


class DashboardConfig(AppConfig):
    name = "dashboard"
    verbose_name = "Compilewatch"

    def ready(self) -> None:
        from dashboard import checks  # noqa: F401 - registers the system checks
        from dashboard.notifications.services import own_channels
        from dashboard.site import connection_checks

        configure_structlog()
        bound_moments()
        send_numbers_as_text()
        connection_checks.connect_signals()
        own_channels.connect_signals()
        post_migrate.connect(ensure_defaults, sender=self)


def send_numbers_as_text() -> None:
    """So that Postgres refuses a number beyond its column: psycopg's binary form cuts off the bits
    that do not fit, and what was 2**32 + 1 is stored as 1.
    """
    adapters.register_dumper(Int2, Int2Dumper)
    adapters.register_dumper(Int4, Int4Dumper)
    adapters.register_dumper(Int8, Int8Dumper)


def bound_moments() -> None:
    """Every form of every model, also of other apps in the admin, refuses a moment that lies at the
    edge of time: it would be stored, and could be neither read nor shown.
    """
    models.DateTimeField.default_validators = [validate_moment]


def validate_moment(at: datetime) -> None:
    """Raises ValidationError."""
    try:
        check_moment(at)
    except ValueError as error:
        raise ValidationError(str(error)) from None


def ensure_defaults(*, apps: Apps = installed, **_: object) -> None:
    """Give every migrated site its own tasks in the scheduler, and the four roles.

    A role needs the permissions of all apps, which Django makes after this app's turn: this app
    stands first among the installed ones.

    apps: as they are after this migration, which may be one in the middle.
    """
    from django.contrib.auth.management import create_permissions

    from dashboard.accounts.services.roles import ensure_roles
    from dashboard.runs.services.schedules import ensure_system_tasks

    for config in installed.get_app_configs():
        create_permissions(config, verbosity=0, apps=apps)
    ensure_system_tasks()
    ensure_roles()
