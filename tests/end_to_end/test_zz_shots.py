from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from dashboard.alerts.selectors.triage_report import build_report
from dashboard.alerts.services.reminders import remind
from dashboard.models import AlertGroup
from dashboard.notifications.selectors import candidates as sel
from dashboard.notifications.transports.compose_candidate import candidate_message
from dashboard.notifications.transports.compose_report import report_message
from tests.builders import candidates, pages
from tests.builders.chromium import drawn

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OUT = "/tmp/rcshots"


def shoot(context, name, address, full=True, html=None):
    for size, theme in (((1440, 900), "light"), ((390, 844), "dark")):
        page = context.new_page()
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.emulate_media(color_scheme=theme)
        if html:
            page.set_content(html)
        else:
            page.goto(address)
            drawn(page)
        page.screenshot(
            path=f"{OUT}/{name}-{'desk' if size[0] > 1000 else 'phone'}.png", full_page=full
        )
        page.close()


def test_shots(context):
    import os

    os.makedirs(OUT, exist_ok=True)
    pages.history()
    pages.alerts()
    ada = User.objects.create_user("ada")
    User.objects.create_user("grace")
    remind(now=timezone.now())
    groups = list(AlertGroup.objects.filter(due_at__isnull=False))
    for n, group in enumerate(groups[:2]):
        AlertGroup.objects.filter(pk=group.pk).update(
            due_at=timezone.now() - timedelta(days=2 + n), assignee=ada
        )
    remind(now=timezone.now())
    comparison = candidates.ended(2.4)
    candidates.candidate("2.14.0@1a2b3c4d+cpu")
    shoot(context, "inbox", "/alerts/")
    shoot(context, "late", "/alerts/?due=late")
    shoot(context, "report", "/alerts/report/?days=92")
    shoot(context, "alert", groups[0].get_absolute_url())
    shoot(context, "versions", "/versions/?machine=cpu-2c")
    shoot(context, "comparisons", "/comparisons/")
    shoot(context, "rules", "/admin/dashboard/rule/add/")
    shoot(context, "track", "/admin/dashboard/track/add/")
    shoot(context, "owner", "/admin/dashboard/familyowner/add/")
    now = timezone.now()
    shoot(context, "mail-candidate", "", html=candidate_message(sel.entry_of(comparison), now).html)
    message = report_message(
        build_report(now - timedelta(days=92), now),
        "team, weekly",
        "https://w.example",
        "https://w.example/alerts/report/",
    )
    shoot(context, "mail-report", "", html=message.html)
    open(f"{OUT}/report.md", "w").write(message.text)
    open(f"{OUT}/candidate.txt", "w").write(candidate_message(sel.entry_of(comparison), now).text)
