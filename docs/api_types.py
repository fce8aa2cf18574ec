"""Writes the client's types from the API's description: python docs/api_types.py [FOLDER].

A test holds that they are current.
"""

import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import django
from reference import ROOT  # which also sets what Django needs to start without a site

from dashboard.ui.api.words import COMMON

Schemas = Mapping[str, Mapping[str, Any]]

CLIENT = ROOT / "compilewatch_client"
ALERT = "/api/v1/alerts/{pk}/"
HEADER = '''"""The documents of the API that the client hands out, as types.

Written from the API's own description by `python docs/api_types.py`: change the schemas of the
site, then run that. A site of a later version may add fields.
"""

from typing import Any, Literal, TypedDict

AlertAction = Literal{actions}
'''
# Document -> the call that answers with it, or with a page of it
CALLS = {
    "Series": ("get", "series"),
    "Datum": ("get", "series/{pk}/data"),
    "Run": ("get", "runs/{pk}"),
    "Plan": ("post", "runs/plan"),
    "Job": ("get", "jobs"),
    "Comparison": ("get", "comparisons/{uuid}"),
    "Bisection": ("get", "bisections/{pk}"),
    "Schedule": ("get", "schedules"),
    "Report": ("get", "comparisons/{uuid}/report"),
    "Gate": ("get", "comparisons/{uuid}/gate"),
    "Alert": ("get", "alerts"),
    "AlertDetail": ("get", "alerts/{pk}"),
    "Evidence": ("get", "alerts/{pk}/evidence"),
    "Issue": ("get", "alerts/{pk}/issue"),
    "SeriesChange": ("get", "series/{pk}/changes"),
    "Advice": ("get", "benchmarks/{name}/advice"),
    "Search": ("get", "search"),
    "ComparisonPlan": ("post", "comparisons/plan"),
    "JobDetail": ("get", "jobs/{uuid}"),
    "Receipt": ("post", "results"),
}
COMMENT_WIDTH = 96
NAMES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def main() -> None:
    django.setup()
    from dashboard.site.api.root import api

    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else CLIENT
    source = module(api.get_openapi_schema())
    formatted = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "-"],
        cwd=ROOT,
        input=source,
        capture_output=True,
        text=True,
        check=True,
    )
    (folder / "api_types.py").write_text(formatted.stdout)


def module(description: Mapping[str, Any]) -> str:
    """The documents of CALLS after the documents inside them, and the actions on an alert."""
    schemas = description["components"]["schemas"]
    documents = {}
    for name, (method, path) in CALLS.items():
        call = description["paths"][f"/api/v1/{path}"][method]
        schema = schemas[answer(call, schemas)]
        for inner in references(schema):
            documents[inner] = typed_dict(inner, schemas[inner])
        documents[name] = typed_dict(name, schema)
    actions = []
    for path, calls in description["paths"].items():
        if path.startswith(ALERT) and "post" in calls:
            actions.append(path.removeprefix(ALERT))
    return "\n\n".join([HEADER.format(actions=actions), *documents.values()])


def answer(call: Mapping[str, Any], schemas: Schemas) -> str:
    """The name of the schema of what a call answers; of a list the schema of its rows."""
    [name] = references(call["responses"][200])
    rows = schemas[name]["properties"].get("results")
    return next(references(rows)) if rows else name


def references(schema: Any) -> Iterator[str]:
    """The names of the schemas to which this one refers."""
    if isinstance(schema, Mapping):
        if "$ref" in schema:
            yield schema["$ref"].rpartition("/")[2]
        schema = list(schema.values())
    if isinstance(schema, list):
        for part in schema:
            yield from references(part)


def typed_dict(name: str, schema: Mapping[str, Any]) -> str:
    fields = schema["properties"]
    if set(schema["required"]) != set(fields):
        raise SystemExit(f"{schema['title']}: the client relies on every field to be there")
    lines = [f"class {name}Document(TypedDict):"]
    if about := schema.get("description"):
        lines += [f'"""{about}"""', ""]
    for field, value in fields.items():
        about = value.get("description")
        if about and about not in COMMON.values():
            lines += textwrap.wrap(
                about, COMMENT_WIDTH, initial_indent="# ", subsequent_indent="# "
            )
        lines.append(f"{field}: {type_of(value)}")
    return "\n    ".join(lines)


def type_of(schema: Mapping[str, Any]) -> str:
    """A JSON schema as Python writes the type."""
    match schema:
        case {"$ref": path}:
            text = f"{path.rpartition('/')[2]}Document"
        case {"anyOf": choices}:
            text = " | ".join(map(type_of, choices))
        case {"enum": words}:
            text = f"Literal{words}"
        case {"prefixItems": items}:
            text = f"tuple[{', '.join(map(type_of, items))}]"
        case {"type": "array", "items": item}:
            text = f"list[{type_of(item)}]"
        case {"type": "object", "additionalProperties": True}:
            text = "dict[str, Any]"
        case {"type": "object", "additionalProperties": value}:
            text = f"dict[str, {type_of(value)}]"
        case _:
            text = NAMES[schema["type"]]
    return text


if __name__ == "__main__":
    main()
