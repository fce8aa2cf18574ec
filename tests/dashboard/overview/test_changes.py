"""Top of the overview: what is new since the last look, its chart, the newest release."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory

from dashboard.alerts.core.alert_charts import Step
from dashboard.comparisons.selectors.newest_release import newest_release
from dashboard.language.metrics import METRICS
from dashboard.models import Job, Series
from dashboard.overview.core.change_drawing import HEIGHT, WIDTH, ChangeDrawing, draw
from dashboard.overview.pages.last_look import last_look, remember
from dashboard.overview.selectors.overview import open_alerts
from tests.builders import alerting, releases, site
from tests.builders.read_data import line as chart_line
from tests.builders.reading import text

NOW = datetime(2026, 11, 23, 9, tzinfo=UTC)
LATENCY = METRICS["latency_ms"]


def look(cookie: str, at: datetime) -> str:
    """The cookie after one more look."""
    request = RequestFactory().get("/")
    request.COOKIES["overview_seen"] = cookie
    response = HttpResponse()
    remember(response, request, at)
    return str(response.cookies["overview_seen"].value)


def looked(cookie: str, at: datetime) -> datetime | None:
    request = RequestFactory().get("/")
    request.COOKIES["overview_seen"] = cookie
    return last_look(request, at)


def test_first_look_has_none_before_it() -> None:
    assert looked("", NOW) is None


def test_new_look_begins_half_an_hour_after_the_last_one() -> None:
    cookie = look("", NOW - timedelta(days=1))
    assert looked(cookie, NOW) == NOW - timedelta(days=1)


def test_reload_keeps_the_look_before() -> None:
    cookie = look(look("", NOW - timedelta(days=1)), NOW)
    assert looked(cookie, NOW + timedelta(minutes=5)) == NOW - timedelta(days=1)


@pytest.mark.parametrize("cookie", ["x", "1.y", "9" * 30, "٣.٤", "-5.-6"])
def test_cookie_that_somebody_else_wrote_is_no_look(cookie: str) -> None:
    assert looked(cookie, NOW) is None


def drawing(values: list[float], change_at: int) -> ChangeDrawing:
    line = chart_line(values)
    step = Step(int(line.at_ms[change_at]), 50.0, 48.0, 52.0, "percent")
    drawn = draw(line, step, LATENCY)
    assert drawn
    return drawn


def test_marks_stand_on_their_side_of_the_change_and_within_the_drawing() -> None:
    drawn = drawing([10.0, 10.1, 9.9, 15.0, 15.1], 3)
    assert [mark.is_after for mark in drawn.marks] == [False] * 3 + [True] * 2
    assert all(0 <= mark.x <= WIDTH and 0 <= mark.y <= HEIGHT for mark in drawn.marks)
    assert drawn.marks[2].x < drawn.edge < drawn.marks[3].x


def test_levels_of_a_drawing_are_the_medians_with_their_unit() -> None:
    drawn = drawing([10.0, 10.1, 9.9, 15.0, 15.0], 3)
    assert (drawn.before.text, drawn.after.text) == ("10.0 ms", "15.0 ms")
    assert drawn.after.y < drawn.before.y


def test_long_history_is_cut_to_what_fits() -> None:
    rng = np.random.default_rng(1)
    drawn = drawing([*rng.normal(10, 0.1, 200), *rng.normal(15, 0.1, 80)], 200)
    assert len(drawn.marks) == 50


def test_change_without_points_on_both_sides_is_not_drawn() -> None:
    line = chart_line([10.0, 10.1])
    step = Step(int(line.at_ms[0]), 50.0, 48.0, 52.0, "percent")
    assert draw(line, step, LATENCY) is None


@pytest.fixture
def alerts_of_two_machines(db: None) -> None:
    alerting.group(title="elsewhere", severity="high", machine=site.machine("cpu-1c"))
    alerting.group(title="here", severity="low", machine=site.machine("cpu-2c"))


@pytest.mark.parametrize(
    ("machine", "titles"), [("cpu-1c", ["elsewhere", "here"]), ("cpu-2c", ["here", "elsewhere"])]
)
def test_alerts_of_the_chosen_machine_come_first(
    alerts_of_two_machines: None, machine: str, titles: list[str]
) -> None:
    shown = open_alerts(NOW, site.machine(machine).pk)
    assert [group.title for group in shown.first] == titles
    assert shown.here == 1


def test_alerts_of_releases_come_before_those_of_variants_which_name_their_setting(
    db: None, reader: Client
) -> None:
    settings = {"inductor": {"epilogue_fusion": False}}
    base, variant = site.build("2.13.0+cpu"), site.build("2.13.0+cpu~unfused")
    variant.variant = settings
    variant.save()
    release = site.build("2.14.1+cpu")
    machine = site.machine("cpu-2c")
    alerting.group(title="of a variant", severity="high", machine=machine, base=base, new=variant)
    alerting.group(title="of a release", severity="low", machine=machine, base=base, new=release)
    shown = open_alerts(NOW, machine.pk)
    assert [group.title for group in shown.first] == ["of a release", "of a variant"]
    assert "setting: <code>epilogue_fusion = False</code>" in text(reader, "/").replace("<wbr>", "")


def test_open_alerts_name_their_machines(
    alerts_of_two_machines: None, two_releases: None, reader: Client
) -> None:
    page = text(reader, "/?machine=h100")
    assert "2 new alerts on all machines" in page
    assert "None of 2 on h100" in page
    assert '<span class="key">cpu-1c</span>' in page


@pytest.mark.parametrize("verdict", ["no_reference", "not_judged"])
def test_overview_says_of_how_many_passing_cases_accuracy_was_not_judged(
    two_releases: None, reader: Client, verdict: str
) -> None:
    assert "accuracy of " not in text(reader, "/")
    newest = Series.objects.filter(metric="passed", newest_value=1).order_by("pk")[0].newest_job
    assert newest
    Job.objects.filter(pk=newest.pk).update(message="Measured, but accuracy was not judged: oom")
    newest.result.document["accuracy"] = {"status": verdict}
    newest.result.save(update_fields=["document"])
    assert "accuracy of 1 not judged" in text(reader, "/")


@pytest.mark.django_db
def test_overview_answers_whether_to_move_to_the_newest_release(
    two_releases: None, reader: Client
) -> None:
    assert "mixed</a>, certain" in text(reader, "/")


@pytest.mark.django_db
def test_verdicts_are_explained_as_on_the_page_of_the_comparison(
    two_releases: None, reader: Client
) -> None:
    assert '<a class="term" href="/glossary/#mixed"' in text(reader, "/")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("machine", "parts"),
    [
        ("cpu-1c", ["verdict-line", 'id="map"', 'id="changes"']),
        ("h100", ["verdict-line", 'id="changes"', 'id="map"']),
    ],
)
def test_overview_begins_with_the_verdict_of_the_newest_release(
    two_releases: None, reader: Client, machine: str, parts: list[str]
) -> None:
    """And goes on with the map, unless an alert is open on the machine that it is of."""
    alerting.group(machine=site.machine(machine))
    page = text(reader, "/?machine=h100")
    assert [page.count(part) for part in parts] == [1] * len(parts)
    assert sorted(parts, key=page.index) == parts


@pytest.mark.django_db
def test_newest_release_of_a_machine_that_measured_nothing_is_none() -> None:
    assert newest_release("nowhere", []) is None


@pytest.mark.django_db
def test_place_of_builds_in_turn_shows_no_moves_between_results(reader: Client) -> None:
    releases.import_two_releases(repeats=2)
    page = text(reader, "/")
    assert 'id="map"' in page
    assert "Biggest movers" not in page
    assert "30 days" not in page
