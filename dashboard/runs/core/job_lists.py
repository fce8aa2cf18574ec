"""Lists of jobs, one a line, as `benchmarks_suite batch` reads them: checked before anything is
planned. Pure.

A line is the fields of job.v1 that differ from their defaults, `benchmark` and `config` at least.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dashboard.catalog.core.plan import TIMEOUT_S, PlanError, check_job
from dashboard.language.contracts import Refused

UNNAMED = {"schema": "job.v1", "job_id": "of-a-list", "attempt": 1}


@dataclass(frozen=True, slots=True)
class ListedJob:
    """One job of a list. number: of its line, from 1. build: its label; empty: the one that is
    asked for.
    """

    number: int
    benchmark: str
    config: str
    device: str
    build: str
    variant: Mapping[str, Any]
    measure: Mapping[str, Any]
    timeout_s: float

    @property
    def name(self) -> str:
        """Names its result, like the folders of `batch`: the same line in the same place is the
        same result.
        """
        return f"{self.number:03d}-{self.benchmark}-{self.config}"


def parse(text: str) -> list[ListedJob]:
    """The jobs of a list, in its order; empty lines are passed over. Raises PlanError naming the
    line.
    """
    return list(_lines(text))


def _lines(text: str) -> Iterator[ListedJob]:
    for number, told in enumerate(text.splitlines(), start=1):
        if told.strip():
            try:
                yield _line(number, json.loads(told))
            except (ValueError, Refused) as error:
                raise PlanError(f"Line {number} of the list is no job: {error}") from None


def _line(number: int, job: Any) -> ListedJob:
    if not isinstance(job, dict):
        raise PlanError(f"{job!r} is not an object with a benchmark and a config")
    check_job({**UNNAMED, **job})
    return ListedJob(
        number,
        job["benchmark"],
        job["config"],
        job.get("device", ""),
        job.get("build", ""),
        job.get("variant", {}),
        job.get("measure", {}),
        job.get("timeout_s", TIMEOUT_S),
    )
