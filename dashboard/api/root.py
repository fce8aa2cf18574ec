"""The API under /api/v1/, its documentation included."""

from typing import Any

from ninja import NinjaAPI

api = NinjaAPI(title="Compilewatch", version="1", urls_namespace="api")


def api_urls() -> Any:
    """What `path()` mounts."""
    return api.urls
