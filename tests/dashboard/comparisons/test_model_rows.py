"""Which models the page of a comparison shows at once, and which it folds away."""

import pytest
from django.test import Client

from tests.builders import releases

pytestmark = pytest.mark.django_db
COMPARE = "/compare/?base=2.11.0&new=2.13.0&machine=h100"


def test_models_with_an_interval_come_before_many_without_slowest_first(reader: Client) -> None:
    releases.import_two_releases(repeats=4, models=["gpt2"])
    releases.import_two_releases(repeats=1, models=["llama", "resnet50", "sd_unet"])
    page = reader.get(COMPARE)
    assert {row.group.name for row in page.context["model_rows"]} == {"gpt2"}
    folded = [row.group.name for row in page.context["folded_rows"]]
    assert folded[:2] == ["sd_unet", "sd_unet"]
    assert len(folded) == 6


def test_few_models_without_an_interval_stay_among_the_others(reader: Client) -> None:
    releases.import_two_releases(repeats=4, models=["gpt2"])
    releases.import_two_releases(repeats=1, models=["llama"])
    page = reader.get(COMPARE)
    assert {row.group.name for row in page.context["model_rows"]} == {"gpt2", "llama"}
