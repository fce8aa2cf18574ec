"""What /api/v1/openapi.json says is enough to use the API: for a person, and for an agent."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db.models import TextChoices

from dashboard.models import EvidenceState, Purpose, Severity, Status, TorchBuild
from dashboard.site.api.root import api
from dashboard.ui.api.words import COMMON
from tests.builders.docker_files import ROOT

RECORDED_IDS = ROOT / "tests" / "data" / "golden" / "api_operations.txt"
SCHEMA: dict[str, Any] = json.loads(json.dumps(api.get_openapi_schema()))
DOCUMENTS: dict[str, Any] = SCHEMA["components"]["schemas"]
CALLS = {
    f"{method.upper()} {path}": call
    for path, calls in SCHEMA["paths"].items()
    for method, call in calls.items()
}
READ_BY_PEOPLE = {path: call for path, call in CALLS.items() if "/worker/" not in path}
# A unit in the name, or words that are one
UNIT_IN_NAME = re.compile(r"(?:^|_)(?:ms|s|gb|mb|percent|steps|processes|jobs|minutes)$")
UNIT_IN_WORDS = re.compile(
    r"\b(?:number|seconds|milliseconds|percent|in steps|in GB|in MB|as a share|code)\b"
    r"|\bunit\b|`unit`|in that unit",
    re.IGNORECASE,
)


def fields_of(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from document.get("properties", {}).items()


def is_number(field: dict[str, Any]) -> bool:
    """Whether it is a number, perhaps null, or a list or a table of them."""
    text = json.dumps({name: part for name, part in field.items() if name != "enum"})
    return '"number"' in text or '"integer"' in text


def documents_in(part: Any) -> set[str]:
    """The names of all documents to which this part of the description leads."""
    names: set[str] = set()
    waiting = [part]
    while waiting:
        refs = re.findall(r'#/components/schemas/([^"]+)', json.dumps(waiting.pop()))
        for name in set(refs) - names:
            names.add(name)
            waiting.append(DOCUMENTS[name])
    return names


@pytest.mark.parametrize("call", CALLS)
def test_call_says_what_it_does(call: str) -> None:
    assert len(CALLS[call]["description"]) > 20
    assert 5 < len(CALLS[call]["summary"]) < 130
    assert "`" not in CALLS[call]["summary"]


@pytest.mark.parametrize("call", CALLS)
def test_parameter_is_described(call: str) -> None:
    silent = [each["name"] for each in CALLS[call]["parameters"] if not each.get("description")]
    assert silent == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_field_is_described(document: str) -> None:
    silent = []
    for name, field in fields_of(DOCUMENTS[document]):
        if not field.get("description"):
            silent.append(name)
    assert silent == []


@pytest.mark.parametrize("call", READ_BY_PEOPLE)
def test_number_in_an_answer_has_its_unit(call: str) -> None:
    without = []
    for document in documents_in(CALLS[call]["responses"]):
        for name, field in fields_of(DOCUMENTS[document]):
            described = UNIT_IN_WORDS.search(field.get("description", ""))
            if is_number(field) and not UNIT_IN_NAME.search(name) and not described:
                without.append(f"{document}.{name}")
    assert without == []


@pytest.mark.parametrize(
    "call", [call for call, described in READ_BY_PEOPLE.items() if "requestBody" in described]
)
def test_body_has_no_field_that_is_ignored(call: str) -> None:
    [body] = READ_BY_PEOPLE[call]["requestBody"]["content"].values()
    document = DOCUMENTS[body["schema"]["$ref"].rpartition("/")[2]]
    assert document["additionalProperties"] is False


@pytest.mark.parametrize("call", CALLS)
def test_refusals_have_a_schema(call: str) -> None:
    responses = CALLS[call]["responses"]
    assert {"401", "403", "422"} <= responses.keys()
    for status in responses.keys() - {"200", "201"}:
        name = responses[status]["$ref"].rpartition("/")[2]
        content = SCHEMA["components"]["responses"][name]["content"]["application/json"]
        assert content["schema"] == {"$ref": "#/components/schemas/Error"}


@pytest.mark.parametrize(
    ("call", "scope"),
    [
        ("GET /api/v1/alerts", "read"),
        ("POST /api/v1/runs/plan", "read"),
        ("POST /api/v1/comparisons/plan", "read"),
        ("POST /api/v1/runs", "trigger"),
        ("POST /api/v1/comparisons/{uuid}/cancel", "trigger"),
        ("POST /api/v1/alerts/{pk}/move", "triage"),
        ("POST /api/v1/results", "write"),
    ],
)
def test_call_names_its_scope(call: str, scope: str) -> None:
    assert CALLS[call]["security"] == [{"Access": [scope]}]
    assert f"Needs the scope `{scope}`" in CALLS[call]["description"]


def test_permission_of_the_account_is_named() -> None:
    assert "permission `dashboard.add_run`" in CALLS["POST /api/v1/runs"]["description"]


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("channel", TorchBuild.Channel),
        ("evidence_state", EvidenceState),
        ("purpose", Purpose),
        ("severity", Severity),
        ("status", Status),
    ],
)
def test_description_of_a_word_names_every_value(field: str, values: type[TextChoices]) -> None:
    assert [value for value in values.values if value not in COMMON[field]] == []


def test_operation_ids_stay() -> None:
    """Programs and generated clients keep them. A new call adds a line; none may go."""
    ids = [call["operationId"] for call in CALLS.values()]
    assert len(ids) == len(set(ids))
    assert set(Path(RECORDED_IDS).read_text().split()) == set(ids)


def test_every_tag_is_explained() -> None:
    explained = {tag["name"] for tag in SCHEMA["tags"] if tag["description"]}
    assert {tag for call in READ_BY_PEOPLE.values() for tag in call["tags"]} <= explained
