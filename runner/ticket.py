"""A claimed job, as what handles it is handed on."""

from dataclasses import dataclass
from pathlib import Path

from runner.joblog import JobLog
from runner.site import Claim


@dataclass(frozen=True)
class Ticket:
    """A claimed job: where its files lie, and the descriptors of the locks on its device."""

    job_id: str
    attempt: int
    claim: Claim
    folder: Path
    locks: list[int]
    log: JobLog
