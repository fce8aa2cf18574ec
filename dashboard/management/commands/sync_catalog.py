"""manage.py sync_catalog: store the suite's list of benchmarks and configs."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from dashboard.catalog.services.suite_catalog import CatalogError, sync_catalog
from dashboard.management.commands.setup_local import read_json
from dashboard.management.site_command import SiteCommand


class Command(SiteCommand):
    help = (
        "Add and update benchmarks and configs from `python -m benchmarks_suite list "
        "--json`; retire the others."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("catalog", type=Path, help="file with the list")

    def handle(self, **options: Any) -> None:
        catalog = read_json(options["catalog"])
        try:
            sync_catalog(catalog=catalog, retire=True)
        except CatalogError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(
            f"{len(catalog['benchmarks'])} benchmarks, {len(catalog['configs'])} configs"
        )
