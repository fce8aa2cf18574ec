"""The client's documents are those of the site: every field, its type, and whether it may be
null.
"""

from typing import Any, get_type_hints

import pytest
from django.test import Client as Browser

from compilewatch_client import documents as d

NESTED = {d.Counts: "Counts", d.Refusal: "Refusal"}
ANSWERS = {  # document -> the call that answers with it, or with a page of it
    d.Series: ("get", "series"),
    d.Datum: ("get", "series/{pk}/data"),
    d.Run: ("get", "runs/{pk}"),
    d.Plan: ("post", "runs/plan"),
    d.Job: ("get", "jobs"),
    d.Comparison: ("get", "comparisons/{uuid}"),
    d.Bisection: ("get", "bisections/{pk}"),
    d.Schedule: ("get", "schedules"),
    d.Report: ("get", "comparisons/{uuid}/report"),
    d.Gate: ("get", "comparisons/{uuid}/gate"),
    d.Alert: ("get", "alerts"),
    d.Taken: ("post", "results"),
}
NAMES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


@pytest.mark.parametrize("document", [*ANSWERS, *NESTED], ids=lambda document: document.__name__)
def test_a_document_has_the_fields_and_types_that_the_site_describes(document: type) -> None:
    described = Browser().get("/api/v1/openapi.json").json()
    told = described["components"]["schemas"][
        NESTED.get(document) or answered(described, *ANSWERS[document])
    ]
    assert set(told["required"]) == told["properties"].keys()
    assert fields(document) == {
        name: described_type(field) for name, field in told["properties"].items()
    }


def answered(described: Any, method: str, path: str) -> str:
    """The name of the schema of what a call answers; of a list the schema of its rows."""
    [answer] = [
        one
        for code, one in described["paths"][f"/api/v1/{path}"][method]["responses"].items()
        if code < "3"
    ]
    name = described_type(answer["content"]["application/json"]["schema"])
    rows = described["components"]["schemas"][name]["properties"].get("results")
    return described_type(rows["items"]) if rows else name


def fields(document: type) -> dict[str, str]:
    return {name: written(hint) for name, hint in get_type_hints(document).items()}


def written(hint: Any) -> str:
    text = hint.__name__ if isinstance(hint, type) and not hasattr(hint, "__args__") else str(hint)
    return text.replace("typing.", "").replace(f"{d.__name__}.", "")


def described_type(told: Any) -> str:
    """A JSON schema as Python writes the type."""
    match told:
        case {"$ref": path}:
            return str(path).rpartition("/")[2]
        case {"anyOf": types}:
            return " | ".join(map(described_type, types))
        case {"enum": words}:
            name, inside = "Literal", list(map(repr, words))
        case {"prefixItems": items}:
            name, inside = "tuple", list(map(described_type, items))
        case {"type": "array", "items": item}:
            name, inside = "list", [described_type(item)]
        case {"type": "object", "additionalProperties": value}:
            name, inside = "dict", ["str", "Any" if value is True else described_type(value)]
        case _:
            return NAMES[told["type"]]
    return f"{name}[{', '.join(inside)}]"
