"""A claimed job, as it is passed to everything that handles it."""

from dataclasses import dataclass
from pathlib import Path

from runner.job_log import JobLog
from runner.site import Claim


@dataclass(frozen=True)
class JobContext:
    """A claimed job. folder: where its files are; locks: descriptors of its device's locks."""

    job_id: str
    attempt: int
    claim: Claim
    folder: Path
    locks: list[int]
    log: JobLog
