"""manage.py compare_builds 2.11.0 2.13.0: measure two builds in turn, and print what changed."""

import time
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import OperationalError
from django.utils import timezone

from dashboard.catalog.core.plan import PlanError, Selection
from dashboard.catalog.selectors.lookups import only_machine
from dashboard.catalog.services.builds import ensure_build
from dashboard.comparisons.core.upgrade_groups import REPORT_METRICS, UpgradeReport, build_report
from dashboard.comparisons.selectors import comparisons
from dashboard.comparisons.services.comparisons import (
    REPEATS,
    plan_comparison,
    settle,
    start_comparison,
)
from dashboard.judgement.words import graded
from dashboard.language.durations import duration
from dashboard.language.wording import plural
from dashboard.management.site_command import SiteCommand
from dashboard.models import Comparison

LOOK_EVERY_S = 2.0


class Command(SiteCommand):
    help = (
        "Measure two torch builds in turn on one machine: install both, A B A B, and an "
        "upgrade report."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "base", help="a version or label of a build, as 2.11.0; added from the index if unknown"
        )
        parser.add_argument("new", help="another one, as 2.13.0")
        parser.add_argument(
            "--machine", default="", help="key of a machine, as cpu-2c (the only one with a worker)"
        )
        add_selection_arguments(parser)
        parser.add_argument(
            "--repeats", type=int, default=REPEATS, help=f"processes per case and build ({REPEATS})"
        )
        parser.add_argument("--label", default="", help="the report's title")
        parser.add_argument(
            "--follow", action="store_true", help="print progress, and the answer at the end"
        )

    def handle(self, **options: Any) -> None:
        try:
            comparison = self.start(options)
        except PlanError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{settings.SITE_URL}{comparison.get_absolute_url()}")
        if options["follow"]:
            try:
                self.follow(comparison)
            except OperationalError:
                raise CommandError(
                    "The site's database went away: is the site stopped? The comparison goes on "
                    "when it runs again; its page is above."
                ) from None

    def start(self, options: dict[str, Any]) -> Comparison:
        machine = only_machine(options["machine"])
        base = ensure_build(options["base"], machine).label
        new = ensure_build(options["new"], machine).label
        selection = selection_of(options)
        fields: dict[str, Any] = {
            "base": base,
            "new": new,
            "machine": machine.key,
            "selection": selection,
            "repeats": options["repeats"],
        }
        cost = plan_comparison(**fields).expected_s
        self.stdout.write(f"{base} and {new} on {machine}: about {duration(cost)}")
        return start_comparison(**fields, label=options["label"])

    def follow(self, comparison: Comparison) -> None:
        """Print progress until the runs have ended, then the answer. Ctrl-C leaves them running."""
        printed = ""
        while True:
            settle(comparison_id=comparison.pk)
            comparison.refresh_from_db(fields=["is_settled"])
            progress = comparisons.progress(comparison, timezone.now())
            counts = progress.counts
            line = f"{counts.ended} of {plural(counts.total, 'job')}, {counts.failed} not passed"
            line += "".join(f", installing torch {build}" for build in progress.installing)
            if line != printed:
                left = progress.seconds_left
                self.stdout.write(f"{line}, about {duration(left)} left" if left else line)
                self.stdout.flush()
                printed = line
            if not progress.is_active:
                break
            time.sleep(LOOK_EVERY_S)
        _, new = comparisons.sides(comparison, REPORT_METRICS)
        self.answer(comparisons.report(comparison))
        if bridge := comparisons.bridge(comparison, new):
            sentence = build_report(*bridge[:2], any_libraries=True).overall.sentence
            self.stdout.write(
                f"  with its own libraries, {bridge[2]}, {comparison.new} against the above: "
                f"{sentence}"
            )

    def answer(self, upgrade: UpgradeReport) -> None:
        overall = upgrade.overall
        self.stdout.write(f"\n{graded(overall.answer).capitalize()}. {overall.sentence}")
        for group in upgrade.models:
            self.stdout.write(f"  {group.title}: {graded(group.answer)}. {group.sentence}")
        for out in upgrade.latency.left_out:
            self.stdout.write(f"  left out: {out.case.benchmark} {out.case.config}: {out.text}")


def add_selection_arguments(parser: ArgumentParser) -> None:
    """The options that `selection_of` reads."""
    names = {
        "family": ("--family", "--suite"),  # the field's families are suites in its words
        "benchmark": ("--benchmark",),
        "config": ("--config",),
    }
    for kind, options in names.items():
        about = f"a {kind}; may be given again"
        parser.add_argument(*options, action="append", default=[], help=about)


def selection_of(options: Mapping[str, Any]) -> Selection:
    """The selection that the options of a command make."""
    return Selection(
        families=tuple(options["family"]),
        benchmarks=tuple(options["benchmark"]),
        configs=tuple(options["config"]),
    )
