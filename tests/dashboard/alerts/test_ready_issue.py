"""The ready issue: its headings, what it says, and the link that opens it on GitHub."""

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from dashboard.alerts.core.ready_issue import IssueFacts, VersionRow, address, write
from dashboard.alerts.selectors.ready_issue import ablation_lines
from dashboard.models import AlertGroup
from tests.builders.alerting import group as empty_group
from tests.builders.confirmations import NEW, confirmed_regression, suspected
from tests.builders.reading import page_text

FACTS = IssueFacts(
    title="[torch.compile] gpt2 is 6% slower",
    summary="**gpt2: latency 6.2% slower (5.1 to 7.4%)**",
    page="https://watch.example.org/alerts/1/",
    how_sure=["Measured again in 4 rounds."],
    others=["bert: latency 3.0% slower"],
    cause=["Likely: compiler."],
    ruled_out=["The eager control shows no change."],
    since=["First build with it: 2.14.0."],
    commands=["pip install torch==2.14.0"],
    error="",
    versions=[VersionRow("PyTorch", "2.13.0", "2.14.0")],
    links=["The alert: https://watch.example.org/alerts/1/"],
    missing=["Structured trace: not recorded."],
)


def sent(url: str) -> dict[str, str]:
    """Parse what GitHub reads in the link, by name."""
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def test_issue_has_the_headings_of_the_form_in_their_order() -> None:
    headings = [line[4:] for line in write(FACTS).body.splitlines() if line.startswith("### ")]
    assert headings == ["🐛 Describe the bug", "Error logs", "Versions"]


def test_issue_without_an_error_says_no_more_than_that_none_was_recorded() -> None:
    assert "### Error logs\n\nNo error was recorded.\n" in write(FACTS).body


def test_link_has_title_and_whole_text_where_they_fit() -> None:
    issue = write(FACTS)
    link = address(issue, "pytorch/pytorch")
    assert urlsplit(link.url)[:3] == ("https", "github.com", "/pytorch/pytorch/issues/new")
    assert sent(link.url) == {"title": issue.title, "body": issue.body}
    assert link.left_out == []


def test_link_that_would_be_too_long_leaves_out_what_matters_least() -> None:
    long = replace(FACTS, others=["x" * 9000])
    link = address(write(long), "pytorch/pytorch")
    assert link.left_out == ["What else changed with it"]
    assert "Shortened to fit into the link" in sent(link.url)["body"]
    assert "6.2% slower" in sent(link.url)["body"]


def test_shortened_text_without_a_page_leads_to_the_files() -> None:
    local = replace(FACTS, page="", others=["x" * 9000])
    body = sent(address(write(local), "pytorch/pytorch").url)["body"]
    assert "The whole text is in issue.md, among the report's files." in body


def test_link_is_never_longer_than_github_takes() -> None:
    endless = replace(FACTS, summary="ä" * 9000, error="ä" * 9000)
    assert len(address(write(endless), "pytorch/pytorch").url) <= 8000


def test_link_sets_no_label_which_github_answers_with_404() -> None:
    assert "labels" not in sent(address(write(FACTS), "pytorch/pytorch").url)


def test_fence_in_an_error_cannot_end_its_block() -> None:
    text = write(replace(FACTS, error="a\n````\n# b")).body
    assert text.count("````") == 2


def test_issue_says_the_ablation_of_a_side_and_the_stage_it_blames() -> None:
    eager = {"status": "pass", "message": ""}
    aot = {"status": "drift", "message": "outputs"}
    new = {"ablation": {"eager": eager, "aot_eager": aot, "stage": "aot"}}
    line = "Ablation of the compiler on new: `eager`: pass, `aot_eager`: drift; it blames aot."
    assert ablation_lines([{}, new]) == [line]


# --- What a measured alert says


@pytest.fixture
def confirmed() -> AlertGroup:
    return confirmed_regression()


@pytest.mark.django_db
def test_confirmed_alert_says_numbers_versions_and_commands(
    confirmed: AlertGroup, reader: Client
) -> None:
    page = page_text(reader.get(f"/alerts/{confirmed.pk}/report/"))
    assert "Both builds were measured again in turn" in page
    assert f"pip install torch=={NEW}" in page
    assert "| PyTorch |" in page
    assert "are the same on both sides" in page or "differ in nothing but" in page


@pytest.mark.django_db
def test_issue_does_not_link_to_an_address_of_this_machine(
    confirmed: AlertGroup, reader: Client, settings: Any
) -> None:
    path = f"/alerts/{confirmed.pk}/"
    settings.SITE_URL = "https://watch.example.org"
    assert f"https://watch.example.org{path}" in page_text(reader.get(f"{path}report/"))
    settings.SITE_URL = "http://127.0.0.1:8000"
    page = page_text(reader.get(f"{path}report/"))
    assert "**Links**" not in page
    assert "works on this machine alone" in page


@pytest.mark.django_db
def test_suspected_alert_says_that_it_is_not_confirmed(reader: Client) -> None:
    group = suspected()
    page = page_text(reader.get(f"/alerts/{group.pk}/report/"))
    assert "has not been confirmed by measuring both builds again in turn" in page


@pytest.mark.django_db
def test_alert_leads_to_its_issue(reader: Client) -> None:
    group = suspected()
    assert f"/alerts/{group.pk}/report/" in page_text(reader.get(group.get_absolute_url()))


@pytest.mark.django_db
def test_alert_without_series_has_no_issue(reader: Client) -> None:
    assert reader.get(f"/alerts/{empty_group().pk}/report/").status_code == 404
