"""manage.py trigger_run: trigger a run from the command line."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from dashboard.catalog.core.plan import PlanError, budget
from dashboard.catalog.selectors.lookups import find_machine, find_track, named_build
from dashboard.language.wording import plural
from dashboard.management.commands.compare_builds import add_selection_arguments, selection_of
from dashboard.management.site_command import SiteCommand
from dashboard.models import Machine, Purpose, TorchBuild
from dashboard.runs.services.runs import plan_run, trigger_run


class Command(SiteCommand):
    help = (
        "Trigger a run: of the machine's default selection, or of the families and "
        "benchmarks named."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--build", required=True, help="a version or label of a build, as 2.13.0"
        )
        parser.add_argument("--machine", required=True, help="key of a machine, as cpu-2c")
        parser.add_argument("--track", default="local", help="key of a track (local)")
        add_selection_arguments(parser)
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
            machine = find_machine(options["machine"])
            build = named_build(options["build"], machine)
            if options["dry_run"]:
                self.print_plan(machine, options)
            else:
                self.trigger(machine, build, options)
        except PlanError as error:
            raise CommandError(str(error)) from None

    def trigger(self, machine: Machine, build: TorchBuild, options: dict[str, Any]) -> None:
        run = trigger_run(
            build=build.label,
            machine=machine.key,
            track=options["track"],
            label=options["label"],
            families=options["family"],
            benchmarks=options["benchmark"],
            configs=options["config"],
            purpose=Purpose.SCHEDULED if options["scheduled"] else Purpose.MANUAL,
        )
        self.stdout.write(f"run {run.pk}: {plural(run.jobs.count(), 'job')}")

    def print_plan(self, machine: Machine, options: dict[str, Any]) -> None:
        find_track(options["track"])
        selection = selection_of(options)
        cases = plan_run(machine=machine.key, selection=selection, check_training=True)
        self.stdout.write("\n".join(f"{case.benchmark} {case.config}" for case in cases))
        cost = budget(cases, {})
        self.stdout.write(f"{plural(cost.jobs, 'job')}, about {cost.expected_s / 60:.0f} min")
