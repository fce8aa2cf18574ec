"""The files that a job leaves, and how it packs them."""

import io
import tarfile

from django.core.files.base import ContentFile

from dashboard.models import Artifact, Job


def packed(files: dict[str, str]) -> bytes:
    """As the suite packs generated code and traces."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:xz") as archive:
        for name, text in files.items():
            body = text.encode()
            entry = tarfile.TarInfo(name)
            entry.size = len(body)
            archive.addfile(entry, io.BytesIO(body))
    return file.getvalue()


def leave(job: Job, name: str, content: bytes) -> None:
    """An artifact of the job."""
    Artifact.objects.create(
        job=job,
        name=name,
        file=ContentFile(content, "x"),
        size_bytes=len(content),
        digest="0",
    )
