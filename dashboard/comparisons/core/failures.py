"""Cases that pass on one side and fail on the other, in plain words. Pure."""

from typing import NamedTuple

from dashboard.comparisons.core.failure_words import describe
from dashboard.comparisons.core.matching import CaseMeasurements, ComparedCase, Side

# How a job ends on a machine that is loaded, or whose device somebody else uses as well: one of
# them proves nothing
ACCIDENTS = frozenset({"timeout", "crashed", "oom"})
# Processes of each side, before accidents on all of one and none of the other are its own
MIN_PROCESSES = 2


class Failure(NamedTuple):
    """A case that fails, and how, in words: "wrong gradients"."""

    case: ComparedCase
    how: str

    @property
    def text(self) -> str:
        return f"{self.case.benchmark} {self.case.config} ({self.how})"


def newly_failing(passing: Side, failing: Side) -> tuple[list[Failure], list[Failure]]:
    """Cases that pass on one side and only fail on the other; and those of them whose failures may
    be accidents.
    """
    certain: list[Failure] = []
    undecided: list[Failure] = []
    for key, measured in failing.items():
        other = passing.get(key)
        only_fails = measured.failures and "latency_ms" not in measured.samples
        if not only_fails or other is None or not other.samples:
            continue
        failure = Failure(measured.case, describe(measured.failures, measured.messages))
        if _is_certain(measured, other):
            certain.append(failure)
        else:
            undecided.append(failure)
    return certain, undecided


def _is_certain(failing: CaseMeasurements, passing: CaseMeasurements) -> bool:
    if not ACCIDENTS.issuperset(failing.failures):
        return True
    passes = max(sum(each.n for each in samples) for samples in passing.samples.values())
    return min(sum(failing.failures.values()), passes) >= MIN_PROCESSES
