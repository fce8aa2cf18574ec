"""django-storages' S3 as a store of artifacts.

It never overwrites a file, gives up soon, and fails as a folder fails.
"""

from __future__ import annotations  # Django's File is generic to type checkers alone

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog
from boto3.exceptions import Boto3Error
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.core.files import File
from s3transfer.exceptions import RetriesExceededError
from storages.backends.s3 import S3Storage

from dashboard.results.core.artifact_store import StoreUnavailable

# Of a file that is read; what is larger goes through a temporary file
IN_MEMORY_BYTES = 8 * 1024 * 1024
# A page waits for the store, and a worker gives up after a minute: two tries of seconds each.
PATIENCE = {
    "connect_timeout": 3,
    "read_timeout": 15,
    "retries": {"mode": "standard", "total_max_attempts": 2},
}

logger = structlog.get_logger(__name__)


class S3Artifacts(S3Storage):
    """Files in one bucket. Failures are OSErrors: FileNotFoundError, or StoreUnavailable."""

    def get_default_settings(self) -> dict[str, Any]:
        """As in a folder, a file that comes again gets a name of its own.

        The earlier file is deleted after it was written.
        """
        return {
            **super().get_default_settings(),
            "file_overwrite": False,
            "max_memory_size": IN_MEMORY_BYTES,
            "client_config": Config(**PATIENCE),
            "transfer_config": TransferConfig(use_threads=False),
        }

    def _open(self, name: str, mode: str = "rb") -> File[Any]:
        with self._explained():
            opened: File[Any] = super()._open(name, mode)
            return opened.open()  # which fetches it: whoever reads it later meets no network

    def _save(self, name: str, content: File[Any]) -> str:
        with self._explained():
            return str(super()._save(name, content))

    def delete(self, name: str) -> None:
        with self._explained():
            super().delete(name)

    def exists(self, name: str) -> bool:
        with self._explained():
            return bool(super().exists(name))

    def size(self, name: str) -> int:
        with self._explained():
            return int(super().size(name))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (BotoCoreError, ClientError, Boto3Error, RetriesExceededError) as error:
            logger.warning("the artifact store failed", bucket=self.bucket_name, error=str(error))
            why = f"The artifact store, an S3 bucket, {_reason(error)}."
            raise StoreUnavailable(why) from error


def _reason(error: Exception) -> str:
    """The end of a sentence: the code that S3 answered, or how the way there failed."""
    if isinstance(error, ClientError):
        return f"answered {error.response.get('Error', {}).get('Code', 'with an error')}"
    return f"could not be asked ({type(error).__name__})"
