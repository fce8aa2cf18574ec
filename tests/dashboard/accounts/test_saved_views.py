"""Views that people saved earlier: links on their page of tokens, which they can remove."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.models import SavedView
from tests.builders.reading import text

pytestmark = pytest.mark.django_db
PAGE = "/benchmarks/?family=llm&sort=worst"


def saved(owner: User) -> SavedView:
    return SavedView.objects.create(user=owner, name="LLMs", address=PAGE)


def test_saved_view_is_a_link_until_it_is_removed(reader: Client) -> None:
    view = saved(User.objects.get(username="reader"))
    assert 'href="/benchmarks/?family=llm&amp;sort=worst"' in text(reader, "/tokens/")
    reader.post(f"/saved-views/{view.pk}/remove")
    assert not SavedView.objects.exists()


def test_views_of_others_are_neither_shown_nor_removed(reader: Client) -> None:
    theirs = saved(User.objects.create_user("other"))
    assert "LLMs" not in text(reader, "/tokens/")
    assert reader.post(f"/saved-views/{theirs.pk}/remove").status_code == 404
