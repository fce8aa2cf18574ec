"""Codes as people read them."""

import json
from pathlib import Path

import pytest

from dashboard.language import states
from dashboard.models import JobState, Status

SCHEMA = Path(__file__).parents[3] / "benchmarks_suite" / "schema" / "result.v1.json"
MARKS = json.loads(SCHEMA.read_text())["properties"]["marks"]
KINDS = MARKS["items"]["properties"]["kind"]["enum"]


@pytest.mark.parametrize("code", [*Status.values, *JobState.values, *KINDS])
def test_no_label_is_a_code(code: str) -> None:
    assert "_" not in states.label(code)


@pytest.mark.parametrize("kind", KINDS)
def test_every_mark_has_a_label(kind: str) -> None:
    assert kind in states.LABELS
