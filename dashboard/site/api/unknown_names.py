"""A name that a call does not have is refused: without it a typo would ask for something else, such
as every series, or measure everything. So is a second value where a call takes one: only the last
would count.
"""

from collections import ChainMap
from collections.abc import Sequence
from functools import wraps
from typing import Any

from django.http import HttpRequest
from ninja.errors import ValidationError, ValidationErrorContext
from ninja.operation import Operation

from dashboard.catalog.core.plan import hint
from dashboard.language.contracts import REPORTED_ERRORS, Refused

FIELD = "extra_forbidden"  # pydantic's word for a field of a body that does not exist


def refuse_parameters(operation: Operation) -> None:
    """Have a call refuse what its address asks for and it does not know. Call this once."""
    parameters: list[str] = []
    lists: list[str] = []
    for model in operation.models:
        if model.__ninja_param_source__ == "query":
            parameters += model.__ninja_flatten_map__
            lists += model.__ninja_collection_fields__
    answer = operation.view_func

    @wraps(answer)
    def checked(request: HttpRequest, **values: Any) -> Any:
        for name, given in request.GET.lists():
            if name not in parameters:
                raise Refused(_sentence("parameter", name, parameters))
            if len(given) > 1 and name not in lists:
                raise Refused(f"{name} has {len(given)} values: it takes one. Call once for each.")
        return answer(request, **values)

    operation.view_func = checked


def name_fields(error: ValidationError, contexts: Sequence[ValidationErrorContext[Any]]) -> None:
    """Give the first unknown fields of a body a message that names what may be meant."""
    fields = ChainMap(*(context.model.model_fields for context in contexts))
    for entry in error.errors[:REPORTED_ERRORS]:
        if entry["type"] == FIELD:
            _, parameter, name = entry["loc"]
            body: Any = fields[parameter].annotation
            entry["msg"] = _sentence("field", name, list(body.model_fields))


def _sentence(kind: str, name: str, existing: Sequence[str]) -> str:
    if not existing:
        return f"Unknown {kind} {name!r:.100}: this call has none."
    return f"Unknown {kind} {name!r:.100}. {hint(name, existing)}"
