"""Imported results are judged where their track asks for it, and their alerts say so."""

import io
import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dashboard.alerts.selectors import alerts
from dashboard.alerts.services import collecting, confirmations, triage
from dashboard.catalog.core.plan import PlanError
from dashboard.language.errors import ActionNotAllowed
from dashboard.models import (
    Alert,
    AlertEvent,
    AlertGroup,
    AlertState,
    Confirmation,
    DetectorState,
    Series,
    Track,
)
from dashboard.overview.selectors.overview import open_alerts
from dashboard.results.services import judged_imports
from tests.builders import site
from tests.builders.alerting import measured, noise
from tests.builders.api import API, Caller, token
from tests.builders.judged_imports import TRACK, entry, file_of, history, imported
from tests.builders.reading import page_text

pytestmark = pytest.mark.django_db

STEPPED = [*noise(40), *noise(10, 115, seed=1)]
YEAR = timedelta(days=365)


def states() -> list[str]:
    return [group.evidence_state for group in AlertGroup.objects.order_by("pk")]


def test_step_in_judged_imports_is_an_alert_that_says_so() -> None:
    report = imported(history(STEPPED))
    assert report.judged == 2  # latency, and whether it passed
    alert = Alert.objects.get()
    assert alert.effect == pytest.approx(15, abs=2)
    assert alert.group.evidence_state == "judged_from_imports"
    assert alert.group.from_imports
    assert alert.group.is_open
    assert str(alert.new) == "git-000000000028"
    assert alert.group.cause == "unknown"
    assert alert.group.evidence[0]["fact"] == "judged from imports"


def test_short_history_says_that_its_points_are_too_few(reader: Client) -> None:
    imported(history([*noise(7), *noise(3, 115, seed=1)]))
    series = Series.objects.get(metric="latency_ms")
    page = page_text(reader.get(f"/series/{series.benchmark}/?track={TRACK}"))
    assert "Too few points <small>10 of about 20</small>" in page
    assert "None found" not in page


def test_imports_are_not_judged_unless_asked() -> None:
    report = imported(history(STEPPED), judge=False)
    assert report.judged == 0
    assert not Track.objects.get(key=TRACK).judges_imports
    assert not DetectorState.objects.exists()


def test_later_import_is_judged_without_asking_again() -> None:
    commits = history(STEPPED)
    imported(commits[:40])
    report = imported(commits, judge=False)
    assert report.judged == 2
    assert states() == ["judged_from_imports"]


def test_asking_later_judges_the_whole_history() -> None:
    imported(history(STEPPED), judge=False)
    report = imported([])
    assert report.judged == 2
    assert Alert.objects.count() == 1


def test_one_commit_at_a_time_reports_the_same_change_once() -> None:
    commits = history(STEPPED)
    imported(commits[:40])
    for commit in commits[40:]:
        imported([commit])
    assert Alert.objects.count() == 1
    assert str(Alert.objects.get().new) == "git-000000000028"


def test_old_change_is_kept_in_hindsight_and_nobody_is_notified() -> None:
    imported(history(STEPPED, newest=timezone.now() - YEAR))
    group = AlertGroup.objects.get()
    assert group.evidence_state == "in_hindsight"
    assert not group.is_open
    assert group.closed_at
    assert not AlertEvent.objects.filter(considered_at=None).exists()
    assert not alerts.listing({}).exists()
    assert alerts.listing({"state": "in_hindsight"}).count() == 1


def test_history_imported_bit_by_bit_is_kept_in_hindsight_too() -> None:
    commits = history(STEPPED, newest=timezone.now() - YEAR)
    for first in range(0, len(commits), 5):
        imported(commits[first : first + 5])
    assert states() == ["in_hindsight"]


def test_change_that_the_whole_history_does_not_show_is_forgotten() -> None:
    """Without the commits between, the new level seems to begin with a later one."""
    commits = history(STEPPED, newest=timezone.now() - YEAR)
    imported([*commits[:30], *commits[44:]])
    before = Alert.objects.get().planned_at
    imported(commits)
    alert = Alert.objects.get()
    assert alert.planned_at != before
    assert AlertGroup.objects.count() == 1


def test_changes_of_one_build_in_hindsight_are_one_group() -> None:
    newest = timezone.now() - YEAR
    first = history(STEPPED, newest=newest)
    second = history(STEPPED, newest=newest, name="bench.py::test_sort")
    both = []
    for commit, same in zip(first, second, strict=True):
        both.append({**commit, "benches": [*commit["benches"], *same["benches"]]})
    imported(both)
    assert Alert.objects.count() == 2
    assert AlertGroup.objects.count() == 1


def test_long_back_import_opens_only_what_is_recent() -> None:
    """Three years, a change each half-year and one yesterday: one alert is open."""
    levels = [100, 120, 150, 180, 220, 260, 310]
    values = [value for level in levels for value in noise(40, level, seed=level)]
    newest = timezone.now() - timedelta(hours=1)
    commits = []
    for number, value in enumerate([*values, *noise(6, 380, seed=9)]):
        days = 1 if number >= len(values) else 3 + 4 * (len(values) - number)
        hour = timedelta(hours=number - len(values))
        at = newest - timedelta(days=days) + (hour if days == 1 else timedelta())
        commits.append(entry(number, at, {"bench": value}))
    imported(commits)
    assert states().count("in_hindsight") == 6
    assert states().count("judged_from_imports") == 1
    assert AlertEvent.objects.filter(considered_at=None).count() == 1


def test_repeats_of_an_earlier_build_join_its_point() -> None:
    commits = history(noise(40))
    imported(commits)
    late = entry(5, timezone.now(), {"bench.py::test_fib": 130.0})
    imported([late])
    state = DetectorState.objects.get(series__metric="latency_ms").state
    assert state["now"]["seen"] == 40
    assert state["open"][0]["value"] == pytest.approx(commits[39]["benches"][0]["value"])


def test_nothing_of_imports_is_measured_again() -> None:
    imported(history(STEPPED))
    group = AlertGroup.objects.get()
    assert group.machine
    site.living_worker(on=group.machine.key)
    assert confirmations.start_due(now=timezone.now()) == 0
    assert not Confirmation.objects.exists()
    assert not triage.can_measure_again(group=group)


def test_builds_of_imports_are_not_diagnosed() -> None:
    imported(history(STEPPED))
    group = AlertGroup.objects.get()
    with pytest.raises(ActionNotAllowed, match="Another system measured it"):
        collecting.collect(group=group, by=None, now=timezone.now())


def test_overview_leaves_imports_out() -> None:
    imported(history(STEPPED))
    assert open_alerts(timezone.now() - YEAR, None).total == 0


def test_series_that_is_back_ends_its_alert() -> None:
    commits = history([*STEPPED, *noise(12, seed=2)])
    imported(commits[:50])
    imported(commits)
    assert states() == ["recovered"]


def test_person_who_reopens_finds_it_judged_from_imports() -> None:
    imported(history(STEPPED, newest=timezone.now() - YEAR))
    group = AlertGroup.objects.get()
    triage.move(group=group, to=AlertState.ACKNOWLEDGED, by=User.objects.create_user("ann"))
    assert group.evidence_state == "judged_from_imports"
    assert group.is_open


def test_track_that_is_measured_here_is_not_judged_from_imports() -> None:
    measured(noise(3))
    with pytest.raises(ActionNotAllowed, match="Track local is for what is measured here"):
        imported(history(STEPPED), track="local")
    assert not Series.objects.filter(track__key=TRACK).exists()


def test_track_that_will_be_measured_here_is_not_judged_from_imports() -> None:
    Track.objects.create(key="nightly", kind=Track.Kind.NIGHTLY)
    with pytest.raises(ActionNotAllowed, match="Track nightly is for what is measured here"):
        imported(history(STEPPED), track="nightly")


def test_imports_to_a_measured_track_do_not_enter_its_detection() -> None:
    measured(noise(30))
    imported(history(STEPPED), judge=False, track="local")
    assert not Alert.objects.exists()


def test_judging_ends_with_the_box_of_the_track() -> None:
    imported(history(STEPPED[:40]))
    Track.objects.filter(key=TRACK).update(judges_imports=False)
    assert imported(history(STEPPED), judge=False).judged == 0
    assert not Alert.objects.exists()


def test_judging_starts_once() -> None:
    imported(history(STEPPED[:40]))
    track = Track.objects.get(key=TRACK)
    assert judged_imports.start(track=track) == 2


# --- What pages and API say


def test_page_of_the_alert_says_who_measured_it(reader: Client) -> None:
    imported(history(STEPPED))
    page = page_text(reader.get(AlertGroup.objects.get().get_absolute_url()))
    assert "another system measured it; never confirmed" in page
    assert "Not looked for: the results were imported." in page
    assert "Reproduce" not in page
    assert "commits unknown" not in page


@pytest.mark.parametrize("page", ["issue/", "report.zip"])
def test_nothing_of_imports_is_reported_to_pytorch(reader: Client, page: str) -> None:
    imported(history(STEPPED))
    address = AlertGroup.objects.get().get_absolute_url() + page
    assert reader.get(address).status_code == 404


def test_api_writes_no_issue_about_imports(reader: Client) -> None:
    imported(history(STEPPED))
    answer = reader.get(f"/api/v1/alerts/{AlertGroup.objects.get().pk}/issue")
    assert answer.status_code == 404
    assert "Another system measured this" in answer.text


def test_page_in_hindsight_says_that_nobody_was_notified(reader: Client) -> None:
    imported(history(STEPPED, newest=timezone.now() - YEAR))
    page = page_text(reader.get(AlertGroup.objects.get().get_absolute_url()))
    assert "it is kept as history, and nobody was notified." in page


def test_trend_says_that_its_changes_are_judged_from_imports(reader: Client) -> None:
    imported(history(STEPPED))
    series = Series.objects.get(metric="latency_ms")
    address = f"/series/{series.benchmark.name}/?track={TRACK}"
    page = page_text(reader.get(address))
    assert "another system measured these results" in page
    assert "where their import asks for it" not in page


def test_api_marks_what_is_judged_from_imports(reader: Client) -> None:
    imported(history(STEPPED))
    (alert,) = reader.get("/api/v1/alerts").json()["results"]
    assert alert["from_imports"] is True
    assert alert["evidence_state"] == "judged_from_imports"


def may_post(*permissions: str) -> User:
    """An account with these permissions alone."""
    person = User.objects.create_user("robot")
    person.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return person


@pytest.mark.parametrize(
    ("permissions", "status"),
    [(["add_result"], 403), (["add_result", "change_track"], 200)],
)
def test_only_who_may_change_tracks_has_one_judged_by_posting(
    permissions: list[str], status: int
) -> None:
    robot = Caller(token("write", owner=may_post(*permissions)))
    body = file_of(history(STEPPED)).body
    address = f"{API}results?file=data.js&track={TRACK}&judge=true"
    response = robot.client.post(address, body, content_type="application/octet-stream")
    assert response.status_code == status
    assert Track.objects.filter(key=TRACK, judges_imports=True).exists() == (status == 200)


def test_form_offers_judging_only_to_who_may_change_tracks(client: Client) -> None:
    person = may_post("add_run")
    person.is_staff = True
    person.save()
    client.force_login(person)
    page = client.get(reverse("import_results")).text
    assert 'name="judge"' in page
    assert re.search(r'<input[^>]*name="judge"[^>]*disabled', page)


def test_badge_counts_imports_only_where_its_filters_ask(reader: Client) -> None:
    imported(history(STEPPED))
    address = reverse("alerts_badge")
    assert "none open" in reader.get(address).text
    assert "1 open" in reader.get(address, {"track": TRACK}).text


def test_nothing_can_be_measured_on_a_judged_track() -> None:
    imported(history(STEPPED))
    with pytest.raises(PlanError, match="measure on another track"):
        site.run(site.MLP, track=TRACK)


def test_command_judges_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "data.js"
    path.write_bytes(file_of(history(STEPPED)).body)
    out = io.StringIO()
    call_command("import_results", path, "--track", TRACK, "--judge", stdout=out)
    assert "2 series will be judged" in out.getvalue()
    assert Track.objects.get(key=TRACK).judges_imports
