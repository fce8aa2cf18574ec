"""manage.py setup_local: what `make up` needs in the database, made where it is missing."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from dashboard.catalog.core.hardware import this_machine
from dashboard.catalog.core.plan import PlanError
from dashboard.catalog.services.suite_catalog import CatalogError
from dashboard.demo.services.local_setup import setup_local
from dashboard.management.site_command import SiteCommand


class Command(SiteCommand):
    help = (
        "Make the local machine, track, worker, account, nightly schedule and first run, "
        "where they are missing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_setup_arguments(parser)
        parser.add_argument(
            "--build",
            type=Path,
            required=True,
            help="JSON of the installed torch: label, version, ...",
        )
        parser.add_argument(
            "--device", default=os.environ.get("WORKER_DEVICE", "cpu"), help="cpu or cuda:0"
        )

    def handle(self, **options: Any) -> None:
        try:
            made = setup_local(
                hardware=this_machine(options["device"]),
                catalog=read_json(options["catalog"]),
                build=read_json(options["build"]),
                worker_token=os.environ.get("WORKER_TOKEN", ""),
            )
        except (CatalogError, PlanError, OSError, subprocess.SubprocessError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(in_words(made, as_json=options["json"]))


def add_setup_arguments(parser: CommandParser) -> None:
    """The options that this command shares with setup_demo."""
    suite_list = "output of `python -m benchmarks_suite list --json`"
    parser.add_argument("--catalog", type=Path, required=True, help=suite_list)
    parser.add_argument("--json", action="store_true", help="print what was made as JSON")


def in_words(made: Mapping[str, Any], *, as_json: bool) -> str:
    """A line for each thing that was made, or was there; or all of it as JSON."""
    if as_json:
        return json.dumps(made)
    return "\n".join(f"{name}: {value or 'as it was'}" for name, value in made.items())


def read_json(path: Path) -> dict[str, Any]:
    """Raises CommandError naming the file."""
    try:
        document = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from None
    if not isinstance(document, dict):
        raise CommandError(f"{path} holds a JSON {type(document).__name__}, not an object")
    return document
