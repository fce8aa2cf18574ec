"""manage.py exchange_factors --level torch=2.11.0,2.13.0 --level numpy=1.26.4,2.4.6: measure one
case in every combination, and print which factor moved it.
"""

import time
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from dashboard.catalog.core.plan import PlanError
from dashboard.catalog.selectors.lookups import only_machine
from dashboard.comparisons.core.factorial_words import cell_text, exchange_text
from dashboard.comparisons.selectors import factorials
from dashboard.comparisons.selectors.factorial_plan import FactorialPlan, plan_factorial
from dashboard.comparisons.services.factorials import REPEATS, start_factorial
from dashboard.language.durations import duration
from dashboard.language.wording import plural
from dashboard.management.site_command import SiteCommand
from dashboard.models import Factorial

LOOK_EVERY_S = 2.0


class Command(SiteCommand):
    help = (
        "Measure one case in every combination of two or three factors (torch, CUDA, a library, "
        "settings), and print which of them moved it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--machine", default="", help="key of a machine, as cpu-2c (the only one with a worker)"
        )
        parser.add_argument("--benchmark", required=True, help="name of a benchmark")
        parser.add_argument("--config", default="inductor", help="name of a config (inductor)")
        parser.add_argument(
            "--level",
            action="append",
            required=True,
            metavar="NAME=A,B",
            help="torch, cuda, a library or variant, and its levels; may be given again",
        )
        parser.add_argument(
            "--repeats", type=int, default=REPEATS, help=f"rounds: processes an arm ({REPEATS})"
        )
        parser.add_argument("--label", default="", help="the page's title")
        parser.add_argument("--dry-run", action="store_true", help="say what it costs, and end")
        parser.add_argument(
            "--follow", action="store_true", help="print progress, and the answer at the end"
        )

    def handle(self, **options: Any) -> None:
        try:
            plan = plan_factorial(
                machine=only_machine(options["machine"]).key,
                benchmark=options["benchmark"],
                config=options["config"],
                levels=levels_of(options["level"]),
                repeats=options["repeats"],
            )
        except PlanError as error:
            raise CommandError(str(error)) from None
        self.describe(plan)
        if options["dry_run"]:
            return
        factorial = start_factorial(plan=plan, label=options["label"])
        self.stdout.write(f"{settings.SITE_URL}{factorial.get_absolute_url()}")
        if options["follow"]:
            self.follow(factorial)

    def describe(self, plan: FactorialPlan) -> None:
        arms, jobs = plural(len(plan.arms), "combination"), plural(plan.cost.jobs, "job")
        self.stdout.write(f"{arms}, {jobs}: about {duration(plan.cost.expected_s)}")
        for out in plan.excluded:
            self.stdout.write(f"  left out, {cell_text(plan.factors, out.cell)}: {out.why}")
        for contrast in plan.estimable.aliased:
            self.stdout.write(f"  cannot be shown: {exchange_text(plan.factors, contrast)}")

    def follow(self, factorial: Factorial) -> None:
        """Print progress until the runs have ended, then the answer. Ctrl-C leaves them running."""
        printed = ""
        while True:
            progress = factorials.progress(factorial, timezone.now())
            counts = progress.counts
            line = f"{counts.ended} of {plural(counts.total, 'job')}, {counts.failed} not passed"
            if line != printed:
                self.stdout.write(line)
                self.stdout.flush()
                printed = line
            if not progress.is_active:
                break
            time.sleep(LOOK_EVERY_S)
        results = factorials.results(factorial)
        if results.answer:
            self.stdout.write(f"\n{results.answer.word}.")
            for sentence in results.answer.sentences:
                self.stdout.write(f"  {sentence}")
        for out in results.left_out:
            self.stdout.write(f"  left out, {out.arm}: {out.why}")


def levels_of(options: Sequence[str]) -> dict[str, list[str]]:
    """NAME=A,B of each option. Raises PlanError."""
    levels: dict[str, list[str]] = {}
    for option in options:
        name, equals, text = option.partition("=")
        if not equals:
            raise PlanError(f"{option!r}: write it as NAME=A,B, as torch=2.11.0,2.13.0.")
        levels.setdefault(name, []).extend(part for part in text.split(",") if part)
    return levels
