"""The file that the dashboard worker and the scheduler touch while they work, for health checks."""

from typing import Any

from celery.signals import heartbeat_sent
from django.conf import settings
from django_celery_beat.schedulers import DatabaseScheduler


def touch_file(**_: Any) -> None:
    """Touch settings.ALIVE_FILE, if there is one."""
    if settings.ALIVE_FILE:
        settings.ALIVE_FILE.touch()


class Scheduler(DatabaseScheduler):
    """django-celery-beat's scheduler; it touches the file at each tick, every 5 seconds or less."""

    def tick(self, *arguments: Any, **options: Any) -> Any:
        touch_file()
        return super().tick(*arguments, **options)


# By the worker's event loop every two seconds, while the broker is there
heartbeat_sent.connect(touch_file, weak=False)
