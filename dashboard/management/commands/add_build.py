"""manage.py add_build: make torch builds known, by version."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from dashboard.catalog.services.builds import BuildError, add_build
from dashboard.management.site_command import SiteCommand


class Command(SiteCommand):
    help = (
        "Add torch builds by version, as the package index describes them. A worker installs "
        "one when a job needs it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("version", nargs="+", help="a version of torch, as 2.13.0")
        parser.add_argument(
            "--index-url", default="", help="index that has it (PACKAGE_INDEX_URL, else pip's own)"
        )

    def handle(self, **options: Any) -> None:
        problems = []
        for version in options["version"]:
            try:
                self.stdout.write(str(add_build(version=version, index_url=options["index_url"])))
            except BuildError as problem:
                problems.append(str(problem))
        if problems:
            raise CommandError("\n".join(problems))
