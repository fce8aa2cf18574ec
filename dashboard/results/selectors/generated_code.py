"""The generated code that a job left."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dashboard.language.contracts import Refused
from dashboard.models import Artifact, Job
from dashboard.results.core.code_diff import ARCHIVE, code_files


@dataclass(frozen=True, slots=True)
class GeneratedCode:
    """Files that the compiler wrote in one job: name -> text. problem: why they cannot be shown."""

    files: dict[str, str]
    problem: str = ""


def of_job(job: Job) -> GeneratedCode:
    """The generated code of a job. One query."""
    artifact = job.artifacts.filter(name=ARCHIVE).first()
    if artifact is None:
        return GeneratedCode({}, "This job left no generated code, or it is no longer kept.")
    try:
        return GeneratedCode(dict(sorted(code_files(archive_bytes(artifact)).items())))
    except (Refused, OSError) as error:
        return GeneratedCode({}, str(error))


def place_of_kernel(files: Mapping[str, str], kernel: str) -> tuple[str, int]:
    """The file that has a kernel's source, and where in it that begins; ("", 0) where none has.

    A file of its own, which is shown whole, comes before the wrapper, which quotes the source of
    all.
    """
    for file, text in files.items():
        if file.startswith("kernels/") and f"def {kernel}(" in text:
            return file, 0
    line = re.compile(rf"^.*\b{re.escape(kernel)}\b", re.MULTILINE)
    for file, text in files.items():
        if place := line.search(text):
            return file, place.start()
    return "", 0


def archive_bytes(artifact: Artifact) -> bytes:
    """Raises OSError with words for a page."""
    try:
        with artifact.file.open("rb") as file:
            return bytes(file.read())
    except FileNotFoundError as error:
        raise OSError(f"The code of job {artifact.job_id} is no longer kept.") from error
