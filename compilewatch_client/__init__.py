"""Compilewatch for programs: a typed client of a site's API, and the command `compilewatch`.

    from compilewatch_client import Client
    client = Client("https://compilewatch.example.org", token="cw_…")
    for series in client.series(model="gpt2", metric="latency_ms"):
        print(series["config"], series["value"], series["unit"])

Needs httpx and rich. The gate that measures on this machine also needs the packages next to this
one.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compilewatch_client.client import Client
    from compilewatch_client.errors import ApiError, ClientError, NotConfigured, Unreachable

__all__ = ["ApiError", "Client", "ClientError", "NotConfigured", "Unreachable"]


def __getattr__(name: str) -> Any:
    """Import at first use, so that the command can report that httpx is missing."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "client" if name == "Client" else "errors"
    return getattr(import_module(f"{__name__}.{module}"), name)
