"""Figures as a response."""

from typing import Any

import orjson
from django.http import HttpResponse


def figure_response(body: Any) -> HttpResponse:
    """numpy arrays straight to JSON; NaN becomes null."""
    content = orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)
    return HttpResponse(content, content_type="application/json")
