"""Figures as an answer."""

from typing import Any

import orjson
from django.http import HttpResponse


def figure_response(body: Any) -> HttpResponse:
    """numpy arrays straight to JSON; NaN becomes null."""
    return HttpResponse(
        orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY), content_type="application/json"
    )
