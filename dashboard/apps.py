"""The site's one Django app."""

from django.apps import AppConfig

from dashboard.logs import configure_structlog


class DashboardConfig(AppConfig):
    name = "dashboard"
    verbose_name = "Compilewatch"

    def ready(self) -> None:
        from dashboard import checks  # noqa: F401 - registers the system checks

        configure_structlog()
