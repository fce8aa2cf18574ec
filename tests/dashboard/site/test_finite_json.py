"""No answer and no row has a number that JSON lacks."""

import json
import math
from typing import Any

import orjson
import pytest
from django.apps import apps
from django.db import models
from django.http import HttpRequest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.language.finite_json import FiniteEncoder, finite
from dashboard.models import AlertGroup
from dashboard.models.fields import JSONField
from dashboard.site.api.root import api
from tests.builders import alerting

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats() | st.text(),
    lambda parts: st.lists(parts) | st.dictionaries(st.text(), parts),
    max_leaves=20,
)


@given(VALUES)
def test_what_is_stored_is_json_with_null_for_what_is_not_finite(value: Any) -> None:
    assert orjson.loads(json.dumps(value, cls=FiniteEncoder).encode()) == finite(value)


@given(VALUES)
def test_what_the_api_answers_is_json(value: Any) -> None:
    answer = api.renderer.render(HttpRequest(), value, response_status=200)
    assert orjson.loads(answer.encode()) == finite(value)


def test_every_json_column_stores_null_for_what_is_not_finite() -> None:
    for model in apps.get_app_config("dashboard").get_models():
        for field in model._meta.get_fields():
            assert isinstance(field, JSONField) or not isinstance(field, models.JSONField), field


@pytest.mark.django_db
def test_infinite_end_is_stored_as_null() -> None:
    group = alerting.group(evidence=[{"low": -math.inf, "high": math.nan, "effect": 1.5}])
    assert AlertGroup.objects.get(pk=group.pk).evidence == [
        {"low": None, "high": None, "effect": 1.5}
    ]
