"""One's own models: starred by a click, and shown alone where that is asked for."""

import pytest
from django.test import Client

from dashboard.models import StarredModel
from tests.builders.people import viewer

pytestmark = pytest.mark.django_db
COMPARE = "/compare/?base=2.11.0&new=2.13.0&machine=h100"


def star(client: Client, model: str, **fields: str) -> None:
    client.post("/models/star", {"model": model, "starred": "1", "address": COMPARE, **fields})


def shown(client: Client, query: str) -> set[str]:
    rows = client.get(f"{COMPARE}{query}").context["model_rows"]
    return {row.group.name for row in rows}


def test_starred_models_are_shown_alone_where_asked(two_releases: None, reader: Client) -> None:
    star(reader, "gpt2")
    assert shown(reader, "&starred=1") == {"gpt2"}
    assert shown(reader, "") > {"gpt2"}


def test_star_can_be_taken_away(two_releases: None, reader: Client) -> None:
    star(reader, "gpt2")
    reader.post("/models/star", {"model": "gpt2"})
    assert not StarredModel.objects.exists()


def test_star_leads_back_to_its_page_and_to_no_other_site(
    two_releases: None, reader: Client
) -> None:
    given = {"model": "gpt2", "starred": "1"}
    own = reader.post("/models/star", {**given, "address": COMPARE})
    assert own["Location"] == COMPARE
    foreign = reader.post("/models/star", {**given, "address": "https://elsewhere.example/"})
    assert foreign["Location"] == "/compare/"


def test_stars_are_a_persons_own(two_releases: None, reader: Client) -> None:
    star(reader, "gpt2")
    other = Client()
    other.force_login(viewer("other"))
    assert shown(other, "&starred=1") == set()


def test_model_that_nothing_measures_cannot_be_starred(two_releases: None, reader: Client) -> None:
    star(reader, "gtp2")
    assert not StarredModel.objects.exists()


def test_stranger_stars_nothing(two_releases: None, client: Client) -> None:
    star(client, "gpt2")
    assert not StarredModel.objects.exists()
