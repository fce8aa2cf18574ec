"""Storage for the files that jobs leave: a folder, or a bucket of S3.

A bucket may also be of anything that speaks S3's protocol.
"""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

HOW = (
    "write s3://BUCKET[/PREFIX][?endpoint_url=https://…&region_name=…], or leave it empty: a folder"
)
# Credentials come as AWS's own tools take them, never in an address
OPTIONS = {"endpoint_url", "region_name"}


class StoreUnavailable(OSError):
    """The store did not take or give a file. The text says why, in words for a page."""


def description(address: str) -> dict[str, Any]:
    """Django's description (an entry of STORAGES) of the store at `address`.

    Without an address, of the folder MEDIA_ROOT. Raises ValueError, which names what is wrong.
    """
    if not address:
        return {"BACKEND": "django.core.files.storage.FileSystemStorage"}
    parts = urlsplit(address)
    if parts.scheme != "s3" or not parts.hostname or parts.netloc != parts.hostname:
        if "@" in address:  # whoever wrote a password into it does not find it again in a log
            address = f"{address.partition('://')[0]}://…"
        raise ValueError(f"is {address!r}, which is not a bucket of S3: {HOW}")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if unknown := sorted(options.keys() - OPTIONS):
        raise ValueError(f"has the unknown option {unknown[0]!r}: {HOW}")
    return {
        "BACKEND": "dashboard.results.services.s3_artifacts.S3Artifacts",
        "OPTIONS": {"bucket_name": parts.hostname, "location": parts.path.strip("/"), **options},
    }
