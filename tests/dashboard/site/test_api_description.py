"""Description in /api/v1/openapi.json: enough to use the API, for a person and for an agent."""

import json
import re
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


def is_number(field: dict[str, Any]) -> bool:
    """Test whether it is a number, perhaps null, or a list or a table of them."""
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


def test_every_call_says_what_it_does() -> None:
    offenders = []
    for name, call in CALLS.items():
        if len(call["description"]) <= 20:
            offenders.append(f"{name}: described by {call['description']!r}")
        if not 5 < len(call["summary"]) < 130 or "`" in call["summary"]:
            offenders.append(f"{name}: summed up by {call['summary']!r}")
    assert not offenders, "\n".join(offenders)


def test_every_parameter_is_described() -> None:
    silent = [
        f"{name}: {parameter['name']}"
        for name, call in CALLS.items()
        for parameter in call["parameters"]
        if not parameter.get("description")
    ]
    assert not silent, "\n".join(silent)


def test_every_field_is_described() -> None:
    silent = [
        f"{name}.{field}"
        for name, document in DOCUMENTS.items()
        for field, described in document.get("properties", {}).items()
        if not described.get("description")
    ]
    assert not silent, "\n".join(silent)


def test_every_number_in_an_answer_has_its_unit() -> None:
    without = set()
    answers = [call["responses"] for call in READ_BY_PEOPLE.values()]
    for document in documents_in(answers):
        for name, field in DOCUMENTS[document].get("properties", {}).items():
            described = UNIT_IN_WORDS.search(field.get("description", ""))
            if is_number(field) and not UNIT_IN_NAME.search(name) and not described:
                without.add(f"{document}.{name}")
    assert not without, "\n".join(sorted(without))


def test_no_body_has_a_field_that_is_ignored() -> None:
    open_bodies = []
    for name, call in READ_BY_PEOPLE.items():
        for body in call.get("requestBody", {"content": {}})["content"].values():
            document = body["schema"]["$ref"].rpartition("/")[2]
            if DOCUMENTS[document].get("additionalProperties") is not False:
                open_bodies.append(f"{name}: {document}")
    assert not open_bodies, "\n".join(open_bodies)


def test_every_refusal_has_a_schema() -> None:
    offenders = []
    for name, call in CALLS.items():
        responses = call["responses"]
        offenders += [f"{name}: no {status}" for status in {"401", "403", "422"} - responses.keys()]
        for status in responses.keys() - {"200", "201"}:
            response = responses[status]["$ref"].rpartition("/")[2]
            content = SCHEMA["components"]["responses"][response]["content"]["application/json"]
            if content["schema"] != {"$ref": "#/components/schemas/Error"}:
                offenders.append(f"{name}: {status} answers {content['schema']}")
    assert not offenders, "\n".join(offenders)


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
