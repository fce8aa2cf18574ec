"""manage.py show_site: the builds, machines and tracks that are here, by the names that other
commands take.
"""

from typing import Any

from django.core.management.base import BaseCommand

from dashboard.models import Machine, TorchBuild, Track


class Command(BaseCommand):
    help = (
        "Print the torch builds, machines and tracks that are known, by the names that other "
        "commands take."
    )

    def handle(self, **_: Any) -> None:
        names = {
            "build": TorchBuild.objects.values_list("label", flat=True),
            "machine": Machine.objects.values_list("key", flat=True),
            "track": Track.objects.values_list("key", flat=True),
        }
        for kind, known in names.items():
            for name in known:
                self.stdout.write(f"{kind:8} {name}")
