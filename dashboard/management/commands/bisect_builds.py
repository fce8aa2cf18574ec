"""manage.py bisect_builds 2.11.0 2.15.0: find the two builds between which one case changed."""

import time
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from dashboard.catalog.core.plan import PlanError
from dashboard.catalog.selectors.lookups import only_machine
from dashboard.comparisons.selectors.bisections import commit_range
from dashboard.comparisons.services.bisections import advance, start_bisection
from dashboard.language.wording import plural
from dashboard.management.site_command import SiteCommand
from dashboard.models import Bisection

LOOK_EVERY_S = 2.0


class Command(SiteCommand):
    help = "Search between two torch builds for the neighbours between which one case changed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("base", help="the older build, by version or label")
        parser.add_argument("new", help="the newer build")
        parser.add_argument(
            "--machine", default="", help="key of a machine, as cpu-2c (the only one with a worker)"
        )
        parser.add_argument("--benchmark", required=True, help="the case's benchmark")
        parser.add_argument("--config", default="inductor", help="the case's config (inductor)")
        parser.add_argument(
            "--metric",
            default="latency_ms",
            help="what changed (latency_ms); `passed`: it fails now",
        )
        parser.add_argument(
            "--follow", action="store_true", help="print each step until the search ends"
        )

    def handle(self, **options: Any) -> None:
        case = {name: options[name] for name in ("base", "new", "benchmark", "config", "metric")}
        try:
            bisection = start_bisection(machine=only_machine(options["machine"]).key, **case)
        except PlanError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{settings.SITE_URL}{bisection.get_absolute_url()}")
        if options["follow"]:
            self.follow(bisection)

    def follow(self, bisection: Bisection) -> None:
        """Print each step, and advance the search where the beat task has not.

        Ctrl-C leaves it running.
        """
        printed = 0
        while bisection.state == Bisection.State.RUNNING:
            time.sleep(LOOK_EVERY_S)
            bisection = advance(bisection_id=bisection.pk) or Bisection.objects.get(pk=bisection.pk)
            for step in bisection.steps[printed:]:
                verdict = step["verdict"].replace("_", " ")
                measured = plural(step["repeats"], "process", "processes")
                self.stdout.write(f"{step['build']}: {verdict}, {measured}")
            printed = len(bisection.steps)
            self.stdout.flush()
        self.stdout.write(
            f"{bisection.state}: {bisection.message} {commit_range(bisection)}".rstrip()
        )
