"""manage.py show_site: the builds, machines and tracks, by the names that other commands take."""

from typing import Any

from dashboard.management.site_command import SiteCommand
from dashboard.models import Machine, TorchBuild, Track


class Command(SiteCommand):
    help = (
        "Print the torch builds, machines and tracks that are known, by the names that other "
        "commands take; without hidden ones."
    )

    def handle(self, **_: Any) -> None:
        for build in TorchBuild.objects.all():
            self.stdout.write(f"build    {build}")
        for machine in Machine.objects.filter(hidden=False):
            self.stdout.write(f"machine  {machine}")
        for track in Track.objects.filter(hidden=False):
            self.stdout.write(f"track    {track}")
