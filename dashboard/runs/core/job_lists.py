"""Lists of jobs, one a line, as `benchmarks_suite batch` reads them. Pure.

They are checked before anything is planned. A line is the fields of job.v1 that differ from their
defaults, `benchmark` and `config` at least.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dashboard.catalog.core.plan import PlanError, check_job
from dashboard.language.contracts import Refused

UNNAMED = {"schema": "job.v1", "job_id": "of-a-list", "attempt": 1}


@dataclass(frozen=True, slots=True)
class ListedJob:
    """One job of a list."""

    number: int  # of its line, from 1
    benchmark: str
    config: str
    device: str
    build: str  # its label; empty: the build that the list is measured on
    variant: Mapping[str, Any]
    measure: Mapping[str, Any]
    timeout_s: float | None  # None: the machine's

    @property
    def name(self) -> str:
        """Of its result, like the folders of `batch`: the same line has the same result."""
        return f"{self.number:03d}-{self.benchmark}-{self.config}"


def parse(text: str) -> list[ListedJob]:
    """The jobs of a list, in its order; empty lines are skipped. Raises PlanError naming a line."""
    jobs = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            jobs.append(_parse_line(number, json.loads(line)))
        except (ValueError, Refused) as error:
            raise PlanError(f"Line {number} of the list is not a job: {error}") from None
    return jobs


def _parse_line(number: int, job: Any) -> ListedJob:
    if not isinstance(job, dict):
        raise PlanError(f"{job!r} is not an object with a benchmark and a config")
    check_job({**UNNAMED, **job})
    return ListedJob(
        number=number,
        benchmark=job["benchmark"],
        config=job["config"],
        device=job.get("device", ""),
        build=job.get("build", ""),
        variant=job.get("variant", {}),
        measure=job.get("measure", {}),
        timeout_s=job.get("timeout_s"),
    )
