"""The recorded demo: every address of it answers, and one change is said in one way everywhere."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.management import call_command
from django.db import transaction
from django.test import Client

from benchmarks_suite.commands import listing
from dashboard.alerts.selectors import alerts
from dashboard.comparisons.selectors.measured_builds import measured_builds
from dashboard.home.core.change_map import MapCell
from dashboard.home.selectors.change_map import night_map, release_map
from dashboard.local.commands import recorded_folders
from dashboard.models import Alert
from dashboard.results.selectors.rollup import series_locations
from tests.builders.spider import Spider

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.django_db]


@pytest.fixture(scope="module", autouse=True)
def demo(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    catalog: Path = tmp_path_factory.mktemp("demo") / "catalog.json"
    catalog.write_text(json.dumps(listing.catalog()))
    with django_db_blocker.unblock(), transaction.atomic():
        call_command("setup_demo", *recorded_folders(), "--catalog", catalog)
        yield
        transaction.set_rollback(True)


def test_every_address_of_the_recorded_demo_answers(admin_client: Client) -> None:
    spider = Spider(admin_client, most_of_a_kind=12)
    spider.crawl("/")
    assert spider.offenders == []


def release_cells() -> Iterator[tuple[str, MapCell]]:
    """Every change of a release on home, with its machine."""
    measured = measured_builds()
    for machine in {tested.machine_key for tested in measured}:
        shown = release_map(machine, measured, ())
        for row in shown.rows if shown else ():
            yield from ((machine, cell) for cell in row.changes if cell.change)


def test_cell_of_home_is_a_row_of_the_comparison(admin_client: Client) -> None:
    reports: dict[str, Any] = {}
    differing = []
    for machine, cell in release_cells():
        query = urlencode({"base": cell.base, "new": cell.new, "machine": machine})
        if query not in reports:
            reports[query] = admin_client.get(f"/compare/?{query}").context["report"].models
        [group] = [
            each for each in reports[query] if (each.name, each.mode) == (cell.model, cell.mode)
        ]
        if (cell.change, cell.verdict) not in [(each.mean, each.verdict) for each in group.means]:
            differing.append(cell.about)
    assert reports
    assert differing == []


def test_cell_of_a_night_has_the_number_of_its_alert() -> None:
    measured, compared = measured_builds(), 0
    for place in series_locations():
        shown = night_map(place, measured, ())
        for row in shown.rows if shown else ():
            for cell in row.changes:
                if cell.change:
                    compared += 1
                    sizes = Alert.objects.filter(alerts.STANDING, group=cell.alert)
                    effects = [alert.size.effect for alert in sizes]
                    assert pytest.approx(cell.change.amount) in effects
                    assert cell.verdict == ("worse" if cell.change.effect > 0 else "better")
    assert compared
