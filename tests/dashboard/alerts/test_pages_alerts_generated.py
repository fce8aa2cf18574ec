"""The alert pages on a generated history: every alert has its page, its figures, and few
queries.
"""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils.html import escape

from dashboard.language import states
from dashboard.models import AlertGroup, Benchmark
from tests.builders import pages
from tests.builders.committed_data import ShareData
from tests.builders.reading import text

pytestmark = pytest.mark.django_db
MaxQueries = Callable[[int], AbstractContextManager[Any]]


@pytest.fixture(scope="module")
def history(share: ShareData) -> None:
    """A generated history with what the detector finds in it."""
    share(pages.history_with_alerts)


def confirmed() -> AlertGroup:
    """A confirmed group that was measured again."""
    group = AlertGroup.objects.filter(
        evidence_state="confirmed", workflow_state="new", confirmation__state="done"
    ).first()
    assert group is not None
    return group


def test_a_filter_that_fits_nothing_says_how_to_go_on(history: None, reader: Client) -> None:
    assert "No alert matches these filters" in text(reader, "/alerts/?kind=silence")


def test_the_inbox_needs_eleven_queries_at_most(
    history: None, operator: Client, django_assert_max_num_queries: MaxQueries
) -> None:
    with django_assert_max_num_queries(11):
        text(operator, "/alerts/?direction=all&state=all")


def test_reader_sees_why_there_are_no_buttons(history: None, reader: Client) -> None:
    shown = text(reader, "/alerts/?direction=all")
    assert "“Can change alert group”" in shown
    assert 'name="act"' not in shown


def test_every_generated_alert_has_a_page(history: None, operator: Client) -> None:
    for group in AlertGroup.objects.all():
        shown = text(operator, group.get_absolute_url()).lower()
        status = escape(states.label(group.workflow_state))
        assert f"{status}</span>" in shown


def test_the_page_of_an_alert_needs_few_queries(
    history: None, operator: Client, django_assert_max_num_queries: MaxQueries
) -> None:
    page = confirmed().get_absolute_url()
    with django_assert_max_num_queries(20):
        text(operator, page)


def test_page_is_laid_out_as_an_argument(history: None, reader: Client) -> None:
    Benchmark.objects.update(imported=False)  # what was confirmed was measured here
    shown = text(reader, confirmed().get_absolute_url())
    headings = ['class="size"', 'class="waterfall"', ">Proof</a>", ">Evidence</h2>"]
    assert sorted(headings, key=shown.index) == headings


def figure(client: Client, url: str) -> dict[str, Any]:
    drawn: dict[str, Any] = json.loads(text(client, url))
    return drawn


def test_the_figure_of_a_change_has_levels_and_the_points(history: None, reader: Client) -> None:
    drawn = figure(reader, f"/alerts/{confirmed().pk}/change.json")
    assert {trace.get("name") for trace in drawn["data"]} >= {"level before", "level after"}


def test_the_control_is_named_where_it_is_drawn(history: None, reader: Client) -> None:
    shown = dict[bool, int]()
    for group in AlertGroup.objects.filter(alerts__isnull=False).distinct():
        drawn = figure(reader, f"/alerts/{group.pk}/change.json")["data"]
        is_drawn = any(trace.get("name") == "eager control" for trace in drawn)
        assert ("Grey: the" in text(reader, f"/alerts/{group.pk}/trend/")) is is_drawn, group
        shown[is_drawn] = shown.get(is_drawn, 0) + 1
    assert shown.keys() == {True, False}


def test_proof_draws_each_pair(history: None, reader: Client) -> None:
    group = AlertGroup.objects.filter(alerts__confirmation="confirmed").first()
    assert group
    marks = reader.get(group.get_absolute_url()).context["marks"]
    assert len(marks.pairs) == 6


def test_proof_is_quick_before_postgres_has_counted_the_rows(history: None, reader: Client) -> None:
    """As after Postgres looked at the tables while they were being filled. The browser waited for
    half a minute.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH uncounted AS (
                UPDATE pg_class SET reltuples = 0, relpages = pg_relation_size(oid) / 8192
                WHERE oid = 'dashboard_job'::regclass
                   OR oid IN (SELECT relid FROM pg_partition_tree('dashboard_datum') WHERE isleaf)
                RETURNING oid
            )
            DELETE FROM pg_statistic WHERE starelid IN (SELECT oid FROM uncounted)
            """
        )
        cursor.execute("SET LOCAL statement_timeout = '2s'")
    assert reader.get(confirmed().get_absolute_url()).context["marks"].pairs
