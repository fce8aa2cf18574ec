"""manage.py publish FOLDER: the read-only pages as static files, for any web host."""

import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from dashboard.language.errors import ActionNotAllowed
from dashboard.language.wording import plural
from dashboard.management.site_command import SiteCommand
from dashboard.site.services.publishing import publish

_MIB = 2**20


class Command(SiteCommand):
    help = (
        "Write home, comparisons, series with their data, and alerts as static "
        "files, for a web host without a server. The folder is new, empty, or published before."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="where the files go")

    def handle(self, **options: Any) -> None:
        began = time.monotonic()
        try:
            publication = publish(folder=options["folder"])
        except ActionNotAllowed as refusal:
            raise CommandError(str(refusal)) from None
        seconds = time.monotonic() - began
        pages = plural(len(publication.pages), "page")
        files = plural(len(publication.files), "file")
        written = [path for path in publication.folder.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in written) / _MIB
        where = options["folder"] / "index.html"
        self.stdout.write(f"{pages} and {files}, {size:.1f} MiB, in {seconds:.0f} s: {where}")
        for page in publication.failed:
            self.stderr.write(f"left out, it did not answer: {page}")
