"""manage.py triage_report: what is new, what is late, who has what, how often we were wrong."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from dashboard.alerts.core.triage_report import markdown
from dashboard.alerts.selectors.triage_report import DAYS, MOST_DAYS, build_report
from dashboard.management.site_command import SiteCommand


class Command(SiteCommand):
    help = "Print the triage report as Markdown: of the last week, unless it is given other days."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--days", type=int, default=DAYS, help=f"how many days, 1 to {MOST_DAYS} ({DAYS})"
        )

    def handle(self, **options: Any) -> None:
        days = options["days"]
        if not 1 <= days <= MOST_DAYS:
            raise CommandError(f"--days {days}: choose 1 to {MOST_DAYS}.")
        now = timezone.now()
        report = build_report(now - timedelta(days=days), now)
        self.stdout.write(markdown(report, settings.SITE_URL), ending="")
