"""manage.py add_worker: a token for one more worker, shown once."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from dashboard.catalog.core.plan import PlanError
from dashboard.catalog.selectors.lookups import find_machine
from dashboard.management.site_command import SiteCommand
from dashboard.models import Machine, Worker
from dashboard.runs.services.fleet import add_worker


class Command(SiteCommand):
    help = "Add a worker to a machine and print its token, which is shown this once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="name of the worker, unique")
        parser.add_argument("--machine", required=True, help="key of its machine, as h200")
        parser.add_argument(
            "--create",
            choices=["cpu", "cuda"],
            help="make the machine, of this kind, if there is none",
        )

    def handle(self, **options: Any) -> None:
        name, key = options["name"], options["machine"]
        if Worker.objects.filter(name=name).exists():
            raise CommandError(
                f"Worker {name} exists. Take another name, or renew its token in the admin."
            )
        if options["create"]:
            size = "smoke" if options["create"] == "cpu" else "standard"
            Machine.objects.get_or_create(
                key=key, defaults={"device_kind": options["create"], "default_size": size}
            )
        try:
            _, token = add_worker(name=name, machine=find_machine(key))
        except PlanError as error:
            raise CommandError(
                f"{error} With --create cpu or --create cuda a new one is made."
            ) from None
        self.stdout.write(token)
