"""A file that the dashboard worker and the scheduler touch while they work: what container health
checks look at.
"""

from typing import Any

from celery.signals import heartbeat_sent
from django.conf import settings
from django_celery_beat.schedulers import DatabaseScheduler


def show(**_: Any) -> None:
    """Touch settings.ALIVE_FILE, if there is one."""
    if settings.ALIVE_FILE:
        settings.ALIVE_FILE.touch()


class Scheduler(DatabaseScheduler):
    """django-celery-beat's scheduler, which shows at each tick that it lives: at least every five
    seconds.
    """

    def tick(self, *arguments: Any, **options: Any) -> Any:
        show()
        return super().tick(*arguments, **options)


# By the worker's event loop every two seconds, while the broker is there
heartbeat_sent.connect(show, weak=False)
