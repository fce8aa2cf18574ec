"""Compilewatch for programs: a typed client of a site's API, and the command `compilewatch`.

    from compilewatch_client import Client
    client = Client("https://compilewatch.example.org", token="cw_…")
    for series in client.series(model="gpt2", metric="latency_ms"):
        print(series["config"], series["value"], series["unit"])

Needs httpx and rich. The gate that measures on this machine also needs the packages next to this
one.
"""

from compilewatch_client.client import Client
from compilewatch_client.errors import ApiError, ClientError, NotConfigured, Unreachable

__all__ = ["ApiError", "Client", "ClientError", "NotConfigured", "Unreachable"]
