"""What the description of the API says of every call alike: scopes, refusals, shared words."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dashboard.accounts.access import Access
from dashboard.ui.api.words import COMMON

Node = dict[str, Any]


REFUSALS = {
    400: "The body is not JSON.",
    401: "No valid token: send `Authorization: Bearer cw_…`.",
    403: "The token lacks the scope, or its owner the permission; `detail` names it.",
    404: "There is no such thing; `detail` names what was looked for.",
    409: "Not possible now, as cancelling what has ended; `detail` says why.",
    413: "The body is too large; `detail` has the limit.",
    422: "A parameter or field is wrong: its path and what is allowed are in `detail`.",
    503: "The site is overloaded or its store is away: try again after `Retry-After` seconds.",
}
_TAGS = {
    "catalog": "What there is: machines, builds, tracks, benchmarks, configs, metrics.",
    "series": "What was measured over time, and where it changed.",
    "jobs": "How each case ended, its result document, its raw samples, its kernels.",
    "runs": "Triggering measurements and following them. They take the time of machines.",
    "comparisons": "Two builds: should we move from one to the other?",
    "bisections": "The search for the build that changed a case.",
    "alerts": "What changed, how sure it is, the likely cause; and acting on it.",
    "advice": "Which config for how many steps.",
    "results": "Results from machines without a worker of the site.",
}
_ERROR = {
    "type": "object",
    "title": "Error",
    "description": "Every refusal: what, where, and what to do.",
    "properties": {
        "detail": {
            "type": "string",
            "description": "What is wrong, where, and what to do about it.",
            "examples": ["Unknown machine 'h10'. Did you mean h100?"],
        }
    },
    "required": ["detail"],
}


def complete(schema: Node, access: Mapping[str, Sequence[Any]]) -> None:
    """Add to ninja's description what its code does not say.

    access: operationId -> who may call it.

    1. The summary of a call is the first sentence of its description.
    2. Its scope stands in `security`, its permission in the description.
    3. How it may be refused.
    4. Fields and parameters without a description of their own mean what COMMON says.
    """
    schema["tags"] = [{"name": name, "description": text} for name, text in _TAGS.items()]
    for path, calls in schema["paths"].items():
        for method, call in calls.items():
            call["summary"] = _summary(call["description"])
            _add_scope(call, access[call["operationId"]])
            call["responses"] |= _refusals(path, method, call)
            for parameter in call["parameters"]:
                _describe(parameter, parameter["name"])
    components = schema["components"]
    components["schemas"]["Error"] = _ERROR
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    components["responses"] = {
        f"Refused{status}": {"description": text, "content": content}
        for status, text in REFUSALS.items()
    }
    for document in components["schemas"].values():
        for name, field in _properties(document):
            _describe(field, name)


def _summary(description: str) -> str:
    """Plain text, where a description is Markdown."""
    first = description.partition("\n\n")[0].partition(". ")[0].partition(";")[0]
    return " ".join(first.split()).rstrip(".").replace("`", "")


def _add_scope(call: Node, callbacks: Sequence[Any]) -> None:
    for rule, callback in zip(call.get("security", ()), callbacks, strict=True):
        if not isinstance(callback, Access):
            continue
        rule[type(callback).__name__] = [callback.scope.value]
        needs = f"Needs the scope `{callback.scope.value}`"
        if callback.permission:
            needs += f", and of the account the permission `{callback.permission}`"
        call["description"] += f"\n\n{needs}."


def _refusals(path: str, method: str, call: Node) -> dict[int, Node]:
    statuses = [401, 403, 422, 503]
    if "{" in path or path.endswith("/compare"):
        statuses.append(404)
    if "requestBody" in call:
        statuses += [400, 413]
    if method != "get":
        statuses.append(409)
    if path.endswith(("/results", "/result")) or "/artifacts/" in path:
        statuses.append(413)
    refs: dict[int, Node] = {}
    for status in sorted(statuses):
        refs[status] = {"$ref": f"#/components/responses/Refused{status}"}
    return refs


def _properties(document: Node) -> Iterator[tuple[str, Node]]:
    for name, field in document.get("properties", {}).items():
        yield name, field
        yield from _properties(field)


def _describe(field: Node, name: str) -> None:
    """By its name, where it does not say itself what it is."""
    is_described = field.get("description") or field.get("schema", {}).get("description")
    if is_described:
        field.setdefault("description", is_described)
    elif text := COMMON.get(name):
        field["description"] = text
