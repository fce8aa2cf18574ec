"""The page of one change, by each address that leads to it."""

import pytest
from django.test import Client

from dashboard.changes.selectors.tabs import TABS
from dashboard.models import Alert, Benchmark
from tests.builders import alerting
from tests.builders.reading import page_text
from tests.dashboard.comparisons.test_compare_pages import COMPARE

pytestmark = pytest.mark.django_db
ROW = COMPARE.replace("/compare/", "/change/") + "&metric=latency_ms&model=sd_unet&mode=inference"


def test_row_of_a_comparison_has_every_tab(two_releases: None, reader: Client) -> None:
    Benchmark.objects.update(imported=False)
    for tab in TABS:
        address = ROW if tab == "proof" else ROW.replace("/change/", f"/change/{tab}/")
        assert reader.get(address).status_code == 200, tab


def test_page_of_a_row_has_the_number_of_the_comparison(two_releases: None, reader: Client) -> None:
    change = reader.get(ROW).context["row"].change
    table = reader.get(COMPARE).context["report"].tables["latency_ms"]
    assert change in [row.change for row in table.rows]


def test_row_about_which_there_is_an_alert_leads_to_it(two_releases: None, reader: Client) -> None:
    shown = reader.get(ROW).context["shown"].subject
    series = alerting.alert(alerting.group()).series
    base, new = (side.build for side in shown.sides)
    job = shown.sides[1].jobs[0]
    series.benchmark, series.config, series.machine = job.benchmark, job.config, job.run.machine
    series.save()
    Alert.objects.update(base=base, new=new)
    alert = Alert.objects.get()
    answer = reader.get(ROW.replace("/change/", "/change/code/"))
    assert answer.headers["Location"] == f"/alerts/{alert.group_id}/code/?alert={alert.pk}"


def test_report_of_a_row_can_be_downloaded(two_releases: None, reader: Client) -> None:
    Benchmark.objects.update(imported=False)
    answer = reader.get(ROW.replace("/change/", "/change/report.zip"))
    assert answer.headers["Content-Type"] == "application/zip"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/jobs/pair/?job=a&job=b", "/change/?job=a&job=b"),
        ("/jobs/pair/calls/?job=a&job=b&at=f", "/change/compile/?job=a&job=b&at=f"),
        ("/alerts/7/issue/?alert=9", "/alerts/7/report/?alert=9"),
        ("/alerts/7/pairs.json", "/alerts/7/"),
    ],
)
def test_old_address_leads_to_its_tab(reader: Client, old: str, new: str) -> None:
    answer = reader.get(old)
    assert (answer.status_code, answer.headers["Location"]) == (301, new)


def test_part_that_no_change_has_is_named(reader: Client) -> None:
    answer = reader.get("/change/prooof/")
    assert answer.status_code == 404
    assert "proof, code, compile" in page_text(answer)
