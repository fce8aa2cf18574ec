"""manage.py discover_builds: ask the package indexes for torch releases that are not known yet."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from dashboard.catalog.services.builds import discover_builds
from dashboard.management.site_command import SiteCommand


class Command(SiteCommand):
    help = (
        "Add every torch release that the package index has and that one of the workers can "
        "install, the newest nightly, and the release candidates."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--index-url", default="", help="index of releases (PACKAGE_INDEX_URL, else pip's own)"
        )
        parser.add_argument(
            "--nightly-index-url", default="", help="index of nightlies (NIGHTLY_INDEX_URL)"
        )
        parser.add_argument(
            "--test-index-url", default="", help="index of release candidates (TEST_INDEX_URL)"
        )

    def handle(self, **options: Any) -> None:
        discovery = discover_builds(
            index=options["index_url"],
            nightly_index=options["nightly_index_url"],
            test_index=options["test_index_url"],
        )
        self.stdout.write("\n".join(map(str, discovery.added)) or "nothing new")
        if discovery.problems:
            raise CommandError("\n".join(discovery.problems))
