"""The map of a track: its newest builds, coloured by what the detector found."""

from typing import Any

import pytest
from django.db.models import F
from django.test import Client

from dashboard.home.core.change_map import FIRST, MapCell, MapRow
from dashboard.models import AlertGroup, BuildLevel, Job, TorchBuild
from tests.builders import alerting, imported_history, site
from tests.builders.reading import text

pytestmark = pytest.mark.django_db
NIGHTS = [f"2.16.0.dev202611{day:02}" for day in range(1, 17)]


def measured_nights(count: int = 3) -> None:
    for hour, night in enumerate(NIGHTS[:count]):
        alerting.measure({"latency_ms": 2.0}, hour, build=night)
    TorchBuild.objects.update(channel=TorchBuild.Channel.NIGHTLY)
    Job.objects.update(finished_at=F("planned_at"))


def rows(reader: Client, address: str = "/") -> list[MapRow]:
    shown: list[MapRow] = reader.get(address).context["map"].rows
    return shown


def found(**fields: Any) -> AlertGroup:
    """An open alert about the second night."""
    base, new = site.build(NIGHTS[0]), site.build(NIGHTS[1])
    group = alerting.group(base=base, new=new)
    alerting.alert(group, **fields)
    return group


def cell(reader: Client, place: int = 1) -> MapCell:
    [row] = rows(reader)
    shown = row.cells[place]
    assert isinstance(shown, MapCell)
    return shown


def test_track_shows_its_newest_fourteen_builds(reader: Client) -> None:
    measured_nights(16)
    columns = reader.get("/").context["map"].columns
    assert [column.label for column in columns] == NIGHTS[2:]


def test_suspected_change_is_likely_and_leads_to_its_alert(reader: Client) -> None:
    measured_nights()
    group = found(effect=12.0, low=9.0, high=15.0)
    shown = cell(reader)
    assert (shown.text, shown.verdict, shown.grade) == ("+12", "worse", "likely")
    assert f'href="/alerts/{group.pk}/"' in text(reader, "/")


def test_confirmed_change_is_certain(reader: Client) -> None:
    measured_nights()
    outcome = {"effect": 10.0, "low": 9.0, "high": 11.0, "unit": "percent", "pairs": 6}
    found(confirmation="confirmed", decision={"confirmation": outcome})
    assert (cell(reader).text, cell(reader).grade) == ("+10", "certain")


def test_change_that_was_taken_back_is_not_on_the_map(reader: Client) -> None:
    measured_nights()
    found(decision={"withdrawn": True})
    assert rows(reader)[0].cells[1] == FIRST


def test_longer_start_is_a_mark(reader: Client) -> None:
    measured_nights()
    found(metric="cold_start_s", effect=30.0)
    [mark] = cell(reader).marks
    assert mark[:3] == ("start", "worse", NIGHTS[0])


def test_silence_of_a_detector_that_read_nothing_says_nothing(reader: Client) -> None:
    measured_nights()
    assert rows(reader)[0].cells == [FIRST] * 3


def test_series_that_the_detector_read_without_a_finding_is_the_same(reader: Client) -> None:
    imported_history.imported(imported_history.history(imported_history_values()))
    [row] = rows(reader)
    assert {cell.verdict for cell in row.changes} == {"same"}
    assert "no change found" in row.changes[0].about


def test_step_in_an_imported_track_colours_its_commit(reader: Client) -> None:
    values = [*imported_history_values(), *imported_history_values(12.0)]
    imported_history.imported(imported_history.history(values))
    [row] = rows(reader)
    assert [cell.text for cell in row.changes if cell.text] == ["+20"]


def imported_history_values(level: float = 10.0) -> list[float]:
    return [level * factor for factor in (1.0, 1.002, 0.998, 1.001, 0.999) * 3][:12]


def test_build_on_which_every_job_failed_is_marked(reader: Client) -> None:
    measured_nights()
    found()
    Job.objects.filter(run__build__label=NIGHTS[1]).update(status="oom")
    BuildLevel.objects.filter(build__label=NIGHTS[1]).delete()
    assert "failure" in [mark.what for mark in cell(reader).marks]
