"""Cases that pass on one side and fail on the other, in plain words. Pure."""

from typing import NamedTuple

from dashboard.comparisons.core.failure_words import describe
from dashboard.comparisons.core.matching import CaseMeasurements, ComparedCase, Key, Side

# How a job ends on a machine that is loaded, or whose device somebody else uses as well: one of
# them proves nothing
ACCIDENTS = frozenset({"timeout", "crashed", "oom"})
UNSUPPORTED = "unsupported"  # torch, a library or a device is missing
WRONG = "fail_accuracy"  # by which a result is wrong, in one process or in all
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
    """Cases that pass on one side and only fail on the other; and those that may do so by accident:
    by their kind of failure, or because other processes of that side passed.
    """
    certain: list[Failure] = []
    undecided: list[Failure] = []
    for key, measured in failing.items():
        other = passing.get(key)
        if not measured.failures or other is None or not other.samples:
            continue
        if "latency_ms" in measured.samples:
            if WRONG in measured.failures and WRONG not in other.failures:
                undecided.append(_sometimes_wrong(measured))
            continue
        failure = Failure(measured.case, describe(measured.failures, measured.messages))
        if _is_certain(measured, other):
            certain.append(failure)
        else:
            undecided.append(failure)
    return certain, undecided


def _sometimes_wrong(measured: CaseMeasurements) -> Failure:
    wrong = measured.failures[WRONG]
    processes = wrong + _passes(measured)
    words = describe({WRONG: wrong}, measured.messages)
    return Failure(measured.case, f"{words} in {wrong} of {processes} processes")


def _is_certain(failing: CaseMeasurements, passing: CaseMeasurements) -> bool:
    if not ACCIDENTS.issuperset(failing.failures):
        return True
    return min(sum(failing.failures.values()), _passes(passing)) >= MIN_PROCESSES


def _passes(measured: CaseMeasurements) -> int:
    return max(sum(each.n for each in samples) for samples in measured.samples.values())


def not_measured(base: Side, new: Side) -> dict[Key, str]:
    """Cases that one side measured and the other had no torch, library or device for, with why; all
    such cases where neither side measured anything.
    """
    nothing = not any(measured.samples for side in (base, new) for measured in side.values())
    reasons = {}
    for name, side, other in (("base", base, new), ("new", new, base)):
        for key, measured in side.items():
            counterpart = nothing or (key in other and other[key].samples)
            if counterpart and not measured.samples and measured.failures.keys() == {UNSUPPORTED}:
                why = measured.messages.get(UNSUPPORTED, "not supported")
                reasons[key] = f"{key.benchmark} {key.config} on the {name} side: {why}"
    return reasons
