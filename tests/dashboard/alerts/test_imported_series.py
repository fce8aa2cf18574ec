"""An imported series is judged like any other; what is old by then notifies nobody."""

import re
from datetime import datetime, timedelta
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from dashboard.alerts.selectors import alerts
from dashboard.alerts.services import collecting, confirmations, detection, remeasuring, triage
from dashboard.language.errors import ActionNotAllowed
from dashboard.models import (
    Alert,
    AlertEvent,
    AlertGroup,
    AlertState,
    Benchmark,
    Confirmation,
    DetectorState,
    Series,
    WorkflowState,
)
from dashboard.notifications.selectors.messages import entry_of
from dashboard.notifications.services import deliveries
from dashboard.results.services import detection_queue
from dashboard.ui.original_names import with_original_names
from tests.builders import site
from tests.builders.alerting import measured, noise
from tests.builders.imported_history import TRACK, entry, history, imported
from tests.builders.notifications import channel, rule
from tests.builders.reading import page_text

pytestmark = pytest.mark.django_db

STEPPED = [*noise(40), *noise(10, 115, seed=1)]
YEAR = timedelta(days=365)


def a_year_ago() -> datetime:
    return timezone.now() - YEAR


def notified() -> int:
    """Count the messages to a channel whose rule selects every state."""
    rule(channel(), states=AlertState.values)
    return deliveries.enqueue_deliveries(now=timezone.now())


def test_step_in_imported_history_is_an_ordinary_alert() -> None:
    imported(history(STEPPED))
    alert = Alert.objects.get()
    assert alert.effect == pytest.approx(15, abs=2)
    assert str(alert.new) == "git-000000000028"
    assert alert.group.state == "suspected"
    assert alert.group.cause == "unknown"


def test_fresh_import_is_in_the_inbox_and_notifies() -> None:
    imported(history(STEPPED))
    assert alerts.listing({}).count() == 1
    assert notified() == 1


def test_old_import_is_closed_from_the_start_and_notifies_nobody() -> None:
    imported(history(STEPPED, newest=timezone.now() - timedelta(days=8)))
    group = AlertGroup.objects.get()
    assert (group.evidence_state, group.workflow_state) == ("suspected", "wontfix")
    assert group.closed_at
    assert not alerts.listing({}).exists()
    assert notified() == 0


def test_history_imported_bit_by_bit_notifies_nobody_either() -> None:
    commits = history(STEPPED, newest=a_year_ago())
    for first in range(0, len(commits), 5):
        imported(commits[first : first + 5])
    assert AlertGroup.objects.get().workflow_state == "wontfix"


def test_long_import_opens_only_what_is_recent() -> None:
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
    states = list(AlertGroup.objects.values_list("workflow_state", flat=True))
    assert states.count("wontfix") == 6
    assert states.count("new") == 1


def test_changes_of_one_build_that_are_old_are_one_group() -> None:
    first = history(STEPPED, newest=a_year_ago())
    second = history(STEPPED, newest=a_year_ago(), name="bench.py::test_sort")
    both = []
    for commit, same in zip(first, second, strict=True):
        both.append({**commit, "benches": [*commit["benches"], *same["benches"]]})
    imported(both)
    assert Alert.objects.count() == 2
    assert AlertGroup.objects.count() == 1


def test_person_who_takes_up_an_old_alert_opens_it() -> None:
    imported(history(STEPPED, newest=a_year_ago()))
    group = AlertGroup.objects.get()
    triage.move(group=group, to=AlertState.ACKNOWLEDGED, by=User.objects.create_user("ann"))
    assert group.evidence_state == "suspected"
    assert group.is_open


def test_upgrade_notifies_nobody_of_what_it_judges_for_the_first_time() -> None:
    """As migration 0043 leaves a series whose imports were not judged before."""
    imported(history(STEPPED))
    AlertGroup.objects.all().delete()
    seen = DetectorState.objects.values_list("series", flat=True)
    DetectorState.objects.update(version="", state={})
    detection_queue.enqueue(series_ids=list(seen))
    while detection.detect_due():
        pass
    assert AlertGroup.objects.get().workflow_state == "wontfix"


def test_change_after_an_upgrade_is_news() -> None:
    commits = history(STEPPED)
    imported(commits[:41])
    DetectorState.objects.update(version="0")
    imported(commits)
    assert AlertGroup.objects.get().workflow_state == "new"


def test_one_commit_at_a_time_reports_the_same_change_once() -> None:
    commits = history(STEPPED)
    imported(commits[:40])
    for commit in commits[40:]:
        imported([commit])
    assert str(Alert.objects.get().new) == "git-000000000028"


def test_repeats_of_an_earlier_build_join_its_point() -> None:
    commits = history(noise(40))
    imported(commits)
    imported([entry(5, timezone.now(), {"bench.py::test_fib": 130.0})])
    state = DetectorState.objects.get(series__metric="latency_ms").state
    assert state["now"]["seen"] == 40
    assert state["open"][0]["value"] == pytest.approx(commits[39]["benches"][0]["value"])


def test_imports_to_a_measured_track_are_points_of_its_series() -> None:
    measured(noise(30))
    imported(history(STEPPED), track="local")
    assert Alert.objects.get().series.benchmark.imported


def test_series_that_is_back_ends_its_alert() -> None:
    commits = history([*STEPPED, *noise(12, seed=2)])
    imported(commits[:50])
    imported(commits)
    assert AlertGroup.objects.get().state == "recovered"


def test_another_tools_benchmark_is_never_measured_again() -> None:
    imported(history(STEPPED))
    group = AlertGroup.objects.get()
    assert group.machine
    site.living_worker(on=group.machine.key)
    assert confirmations.start_due(now=timezone.now()) == 0
    assert not Confirmation.objects.exists()
    with pytest.raises(ActionNotAllowed, match="Another system measured it"):
        remeasuring.measure_again(group=group, by=None, now=timezone.now())


def test_another_tools_benchmark_is_not_diagnosed() -> None:
    imported(history(STEPPED))
    group = AlertGroup.objects.get()
    with pytest.raises(ActionNotAllowed, match="Another system measured it"):
        collecting.collect(group=group, by=None, now=timezone.now())


# --- What pages and API say


def test_page_of_the_alert_says_that_it_cannot_be_measured_again(reader: Client) -> None:
    imported(history(STEPPED))
    page = page_text(reader.get(AlertGroup.objects.get().get_absolute_url()))
    assert "Another system measured it: it cannot be measured again here." in page
    assert "Reproduce" not in page


def test_page_of_an_old_alert_says_why_it_is_closed(reader: Client) -> None:
    imported(history(STEPPED, newest=a_year_ago()))
    page = page_text(reader.get(AlertGroup.objects.get().get_absolute_url()))
    assert triage.OLD_NEWS in page


@pytest.mark.parametrize("page", ["report/", "report.zip"])
def test_another_tools_benchmark_is_not_reported_to_pytorch(reader: Client, page: str) -> None:
    imported(history(STEPPED))
    address = AlertGroup.objects.get().get_absolute_url() + page
    assert reader.get(address).status_code == 404


def test_api_writes_no_issue_about_another_tools_benchmark(reader: Client) -> None:
    imported(history(STEPPED))
    answer = reader.get(f"/api/v1/alerts/{AlertGroup.objects.get().pk}/issue")
    assert answer.status_code == 404
    assert "Another system measured this" in answer.text


def test_api_answers_with_the_ordinary_words(reader: Client) -> None:
    imported(history(STEPPED))
    (alert,) = reader.get("/api/v1/alerts").json()["results"]
    assert alert["evidence_state"] == "suspected"
    assert alert["workflow_state"] == WorkflowState.NEW


def test_short_history_says_that_its_points_are_too_few(reader: Client) -> None:
    imported(history([*noise(7), *noise(3, 115, seed=1)]))
    series = Series.objects.get(metric="latency_ms")
    page = page_text(reader.get(f"/series/{series.benchmark}/?track={TRACK}"))
    assert "Too few points <small>10 of about 20</small>" in page
    assert "None found" not in page


def test_names_are_those_of_the_file_on_every_page(reader: Client) -> None:
    imported(history(STEPPED, name="bench.py::fib[-20]"))
    alert = Alert.objects.get()
    place = f"machine={alert.series.machine}&track={TRACK}"
    for address in (
        f"/?{place}",
        "/alerts/",
        alert.group.get_absolute_url(),
        f"/compare/?base={alert.base}&new={alert.new}&{place}",
        f"/benchmarks/?{place}",
        f"/series/{alert.series.benchmark}/?{place}",
        "/search/?q=fib",
    ):
        shown = unescape(page_text(reader.get(address))).replace("<wbr>", "")
        assert "bench.py::fib[-20]" in shown, address
        assert not re.findall(r">[^<]*bench_py_fib_20_\w+ [^<]*<", shown), address


def test_export_has_the_names_of_the_file(reader: Client) -> None:
    imported(history(noise(1), name="bench.py::fib[-20]"))
    assert b",bench.py::fib[-20]" in b"".join(reader.get("/export/data.csv"))


def test_mail_has_the_names_of_the_file() -> None:
    imported(history(STEPPED, name="bench.py::fib[-20]"))
    written = entry_of(AlertEvent.objects.latest("pk"))
    assert written.title.startswith("bench.py::fib[-20] inference: ")
    assert written.series[0].text.startswith("bench.py::fib[-20].imported")


def test_name_with_a_digest_is_read_once(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    imported(history(noise(1), name="bench.py::fib[-21]"))
    name = Benchmark.objects.get().model
    with django_assert_num_queries(3):
        assert with_original_names(name) == "bench.py::fib[-21]"
    with django_assert_num_queries(0):
        assert with_original_names(f"{name} {name}") == "bench.py::fib[-21] bench.py::fib[-21]"


def test_name_turns_no_text_around() -> None:
    assert with_original_names("x\u202eb") == "x\ufffdb"
