"""manage.py trigger_run: trigger a run from the command line."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from dashboard.catalog.core.plan import PlanError, Selection, budget
from dashboard.language.wording import plural
from dashboard.models import Purpose
from dashboard.runs.services.runs import plan_run, trigger_run


class Command(BaseCommand):
    help = (
        "Trigger a run: of the machine's default selection, or of the families and "
        "benchmarks named."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--build", required=True, help="label of a torch build, as 2.13.0+cpu")
        parser.add_argument("--machine", required=True, help="key of a machine, as cpu-2c")
        parser.add_argument("--track", default="local", help="key of a track (local)")
        parser.add_argument(
            "--family", action="append", default=[], help="a family; may be given again"
        )
        parser.add_argument(
            "--benchmark", action="append", default=[], help="a benchmark; may be given again"
        )
        parser.add_argument(
            "--config", action="append", default=[], help="a config; may be given again"
        )
        parser.add_argument("--label", default="", help="shown with the run")
        parser.add_argument(
            "--scheduled",
            action="store_true",
            help="count it as a scheduled run: detection judges it",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="print the jobs and plan nothing"
        )

    def handle(self, **options: Any) -> None:
        try:
            if options["dry_run"]:
                self.print_plan(options)
            else:
                self.trigger(options)
        except PlanError as error:
            raise CommandError(str(error)) from None

    def trigger(self, options: dict[str, Any]) -> None:
        where = {key: options[key] for key in ("build", "machine", "track", "label")}
        purpose = Purpose.SCHEDULED if options["scheduled"] else Purpose.MANUAL
        chosen = {key: options[key[:-1]] for key in ("benchmarks", "configs")}
        run = trigger_run(families=options["family"], purpose=purpose, **chosen, **where)
        self.stdout.write(f"run {run.pk}: {plural(run.jobs.count(), 'job')}")

    def print_plan(self, options: dict[str, Any]) -> None:
        asked = Selection(*(tuple(options[key]) for key in ("family", "benchmark", "config")))
        cases = plan_run(machine=options["machine"], selection=asked)
        self.stdout.write("\n".join(f"{case.benchmark} {case.config}" for case in cases))
        cost = budget(cases, {})
        self.stdout.write(f"{plural(cost.jobs, 'job')}, about {cost.expected_s / 60:.0f} min")
