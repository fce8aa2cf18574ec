"""The page of one alert and its figures: what they show, to whom."""

import json
import re
from typing import Any

import pytest
from django.test import Client

from dashboard.alerts.selectors import alerts
from dashboard.alerts.services.descriptions import describe
from dashboard.models import Confirmation, TorchBuild
from tests.builders import alerting, site
from tests.builders.reading import text

pytestmark = pytest.mark.django_db
ATOM = "{http://www.w3.org/2005/Atom}"


def test_page_shows_the_effect_with_its_interval(reader: Client) -> None:
    group = alerting.group()
    alerting.alert(group)
    shown = text(reader, group.get_absolute_url())
    assert "6.2% slower" in shown
    assert "5.1 to 7.4% slower" in shown


def test_wide_change_is_called_by_its_near_end_wherever_it_is_shown(reader: Client) -> None:
    outcome = {"effect": 455.0, "low": 79.3, "high": 1616.0, "unit": "percent", "pairs": 4}
    group = alerting.group("confirmed", new=site.build(), base=site.build("2.12.0"))
    alert = alerting.alert(group, confirmation="confirmed", decision={"confirmation": outcome})
    alerting.alert(group, "cold_start_s")
    describe(groups=[group])
    said = "at least 79.3% slower"
    assert said in group.title
    details = "best estimate 455%, interval 79.3 to 1,616%"
    for address in ("/alerts/", group.get_absolute_url()):
        shown = " ".join(text(reader, address).split())
        assert f"{said}</span> <small>{details}" in shown
        assert "455% slower" not in shown
    issue = text(reader, f"{group.get_absolute_url()}report/?alert={alert.pk}")
    assert f"latency {said} ({details})**" in issue
    assert "First estimate, since replaced: 6.2% slower" in issue
    assert "455% slower" not in issue


def test_title_and_interval_of_a_wide_change_have_the_same_digits(reader: Client) -> None:
    group = alerting.group()
    alerting.alert(group, "cold_start_s", effect=12.6, low=7.2, high=18.9)
    describe(groups=[group])
    assert "cold start 13% longer" in group.title
    shown = " ".join(text(reader, group.get_absolute_url()).split())
    assert "13% longer</span> <small>7 to 19% longer" in shown


def test_interval_whose_ends_read_the_same_is_left_out_of_the_summary(reader: Client) -> None:
    group = alerting.group()
    decision = {"verdict": {"level_before": 21.2, "level_after": 18.0}}
    alerting.alert(
        group, "peak_memory_gb", effect=-15.09, low=-15.12, high=-15.07, decision=decision
    )
    shown = text(reader, group.get_absolute_url())
    assert "15.1% less memory" in shown
    assert "15.1 to 15.1%" not in shown
    assert "21.2 GB" in shown
    assert "18.0 GB" in shown


def test_alert_of_a_metric_that_the_table_no_longer_has_stays_readable(reader: Client) -> None:
    group = alerting.group()
    series = alerting.alert(group).series
    series.metric = "guard_overhead_us"
    series.save()
    assert "guard overhead us" in text(reader, group.get_absolute_url())


def test_page_shows_what_the_confirmation_measured_of_the_series(reader: Client) -> None:
    group = alerting.group()
    again = {
        "effect": 9.5,
        "low": 8.0,
        "high": 11.0,
        "unit": "percent",
        "pairs": 4,
    }
    alerting.alert(group, confirmation="confirmed", decision={"confirmation": again})
    Confirmation.objects.create(
        group=group, state="done", message="another series: +30.0% in 4 rounds: confirmed"
    )
    shown = text(reader, group.get_absolute_url())
    assert re.search(
        r"measured again in turn: .*confirmed.*9.5% slower \(8.0 to 11.0%\).* in 4 rounds", shown
    )
    assert "another series" not in shown


def test_page_shows_a_status_change_in_words(reader: Client) -> None:
    group = alerting.group(kind="status")
    alerting.alert(
        group, metric="passed", kind="status", decision={"words": ["pass", "fail_accuracy"]}
    )
    shown = text(reader, group.get_absolute_url())
    assert "accuracy failed" in shown
    assert "A status word is not a noisy number" in shown


def test_page_of_a_trade_off_shows_both_sides(reader: Client) -> None:
    group = alerting.group(direction="trade_off")
    alerting.alert(
        group,
        effect=-4.0,
        low=-5.0,
        high=-3.0,
        direction="improvement",
    )
    alerting.alert(
        group,
        metric="cold_start_s",
        effect=30.0,
        low=25.0,
        high=35.0,
    )
    shown = text(reader, group.get_absolute_url())
    assert shown.index("What got worse") < shown.index("What got better")
    assert "A trade-off" in shown


def test_confirmed_improvement_is_not_an_alarm(reader: Client) -> None:
    group = alerting.group("confirmed", direction="trade_off")
    alerting.alert(group, metric="cold_start_s", confirmation="confirmed")
    alerting.alert(
        group, effect=-4.0, low=-5.0, high=-3.0, direction="improvement", confirmation="confirmed"
    )
    worse, better = text(reader, group.get_absolute_url()).split("What got better")
    assert '<span class="word bad"' in worse.partition("What got worse")[2]
    of_the_gain = better.partition("</table>")[0]
    assert '<span aria-hidden="true">✓</span> confirmed' in of_the_gain
    assert '<span class="word bad"' not in of_the_gain


def test_builds_with_commits_link_to_what_lies_between(reader: Client) -> None:
    base = TorchBuild.objects.create(label="aaa", version="2.14", git_sha="aaa")
    new = TorchBuild.objects.create(label="bbb", version="2.14", git_sha="bbb")
    group = alerting.group(base=base, new=new)
    alerting.alert(group)
    shown = text(reader, group.get_absolute_url())
    assert "https://github.com/pytorch/pytorch/compare/aaa...bbb" in shown


def test_a_group_without_series_still_has_a_page(reader: Client) -> None:
    group = alerting.group(
        kind="silence",
        title="worker w1 is silent",
        machine=None,
        track=None,
    )
    assert "should have reported did not" in text(reader, group.get_absolute_url())


def test_a_skipped_confirmation_says_why(reader: Client) -> None:
    group = alerting.group()
    alerting.alert(group)
    Confirmation.objects.create(
        group=group,
        state="skipped",
        message="60 jobs wait already.",
    )
    shown = text(reader, group.get_absolute_url())
    assert "It was not measured again: 60 jobs wait already." in shown


def test_evidence_is_escaped(reader: Client) -> None:
    group = alerting.group(
        evidence=[
            {
                "fact": "code",
                "says": "<script>x</script>",
                "supports": "compiler",
            }
        ]
    )
    assert "<script>x" not in text(reader, group.get_absolute_url())


def test_the_command_of_the_new_level_is_there_to_be_copied(reader: Client) -> None:
    series = alerting.measured([2.0, 2.2])
    group = alerting.group()
    alerting.alert(group, job=series.data.get(value=2.2).job)
    assert "python -m benchmarks_suite run" in text(reader, f"/alerts/{group.pk}/reproduce/")


# --- Its figures


def figure(client: Client, url: str) -> dict[str, Any]:
    drawn: dict[str, Any] = json.loads(text(client, url))
    return drawn


def test_a_group_without_series_has_no_figure(reader: Client) -> None:
    assert reader.get(f"/alerts/{alerting.group().pk}/change.json").status_code == 404


def test_an_invalid_point_is_not_in_the_figure(reader: Client) -> None:
    series = alerting.measured([2.0, 2.0, 9.0, 2.2])
    group = alerting.group()
    alert = alerting.alert(group, planned_at=series.last_at)
    job = series.data.get(value=9.0).job
    alert.series.invalid_points.create(job=job, reason="shared machine")
    drawn = figure(reader, f"/alerts/{group.pk}/change.json")
    points = next(trace for trace in drawn["data"] if trace["mode"] == "lines+markers")
    assert len(points["x"]) == 3


# --- One size, the setting as the cause, and where the code is


def test_confirmed_size_is_the_one_that_is_stated(reader: Client) -> None:
    group = alerting.group(state="confirmed", new=site.build(), base=site.build("2.12.0"))
    outcome = {
        "effect": 5.27,
        "low": 3.38,
        "high": 7.98,
        "unit": "percent",
        "pairs": 6,
    }
    decision = {"confirmation": outcome}
    alert = alerting.alert(group, confirmation="confirmed", decision=decision)
    describe(groups=[group])
    assert group.title.startswith("mlp inference: 5.3% slower")
    shown = text(reader, group.get_absolute_url())
    assert "3.4 to 8.0% slower, 6 pairs" in shown
    assert "First estimate, since replaced" in shown
    assert "5.3% slower" in alerts.summarize(alert).sentence
    assert "6.2" not in alerts.summarize(alert).sentence


def test_cause_of_a_variant_is_its_setting(reader: Client) -> None:
    base = site.build()
    setting = {"inductor": {"epilogue_fusion": False}}
    new = TorchBuild.objects.create(
        label="unfused",
        version="2.13.0",
        base=base,
        variant=setting,
    )
    group = alerting.group(cause="compiler", base=base, new=new)
    shown = text(reader, group.get_absolute_url())
    assert "Compiler setting: epilogue_fusion = False." in shown


def test_both_builds_can_be_repeated(reader: Client) -> None:
    alert = alerting.stepped()
    alert.base, alert.new = site.build(), site.build("2.14.0")
    alert.save()
    shown = text(reader, f"/alerts/{alert.group_id}/reproduce/")
    assert "# base: 2.13.0" in shown
    assert "# new: 2.14.0" in shown


def test_issue_says_which_other_changes_were_not_confirmed_in_turn(reader: Client) -> None:
    group = alerting.group(evidence_state="confirmed", base=site.build(), new=site.build("2.14.0"))
    alerting.alert(group, confirmation="confirmed", effect=20.0, low=18.0, high=22.0)
    alerting.alert(group, metric="cold_start_s")
    issue = text(reader, f"{group.get_absolute_url()}report/")
    others = issue.partition("What else changed with it")[2]
    assert "(this one was not confirmed in turn)" in others


def test_code_that_is_not_kept_is_a_reason(reader: Client) -> None:
    alert = alerting.stepped()
    shown = text(reader, f"/alerts/{alert.group_id}/code/")
    assert "One side has no generated code." in shown


def test_weak_evidence_is_folded(reader: Client) -> None:
    setting = {"fact": "setting", "says": "x: 1 → 2", "supports": "compiler"}
    control = {"fact": "eager control", "says": "it shows no change", "supports": "unknown"}
    group = alerting.group(cause="compiler", evidence=[control, setting])
    shown = text(reader, group.get_absolute_url())
    assert shown.index("x: 1 → 2") < shown.index("Weak evidence (1)")
    assert shown.index("Weak evidence (1)") < shown.index("it shows no change")
