"""A server that speaks S3's protocol, in a process of its own on this machine."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3

BUCKET = "artifacts-of-tests"
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "tests",
    "AWS_SECRET_ACCESS_KEY": "tests",
    "NO_PROXY": "127.0.0.1",
}


class S3Server:
    """url: where it listens, on a port of its own choosing."""

    def __init__(self) -> None:
        serve = "from moto.server import main; main(['-H', '127.0.0.1', '-p', '0'])"
        self._process = subprocess.Popen(
            [sys.executable, "-c", serve],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.url = self._read_url()

    def _read_url(self) -> str:
        """The address that the server prints once it listens."""
        assert self._process.stderr
        lines = []
        for line in self._process.stderr:
            lines.append(line)
            if match := re.search(r"Running on (http://127\.0\.0\.1:\d+)", line):
                return match[1]
        raise AssertionError("the S3 server ended:\n" + "".join(lines))

    def make_bucket(self) -> None:
        """Create the bucket, or empty it."""
        bucket = self._s3().Bucket(BUCKET)
        bucket.create()
        bucket.objects.delete()

    def keys(self) -> list[str]:
        """The names of all stored objects."""
        return [each.key for each in self._s3().Bucket(BUCKET).objects.all()]

    def stop(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _s3(self) -> Any:
        return boto3.resource("s3", endpoint_url=self.url, region_name="us-east-1")


@contextmanager
def s3_server() -> Iterator[S3Server]:
    server = S3Server()
    try:
        yield server
    finally:
        server.stop()
