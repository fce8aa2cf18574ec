"""What more has to be measured until a comparison can answer: which cases, how many times. Pure."""

import math
from dataclasses import dataclass

from dashboard.comparisons.core.judgement import Finding, Judgement
from dashboard.comparisons.core.matching import Key
from dashboard.comparisons.core.metric_effects import CERTAIN_PROCESSES

# Where a case was not yet measured in turn: fewer say nothing of the spread between processes
FIRST_PAIRS = 3
# Of one comparison. More are not proposed: noise of that size is better explained than averaged
MAX_REPEATS = 20


@dataclass(frozen=True, slots=True)
class Shortfall:
    """What is missing.

    cases: those that are open. pairs: how many times both builds should measure each of them; more
    than MAX_REPEATS where their noise hides any answer.
    """

    cases: list[Key]
    pairs: int

    @property
    def is_hopeless(self) -> bool:
        return self.pairs > MAX_REPEATS


def shortfall(judgement: Judgement) -> Shortfall | None:
    """None where the answer is known, or nothing can be measured.

    An estimate: an interval narrows with the root of the processes, and how noisy a case is shows
    only while it is measured.
    """
    if judgement.state != "unknown":
        return None
    pairs: dict[Key, int] = {}
    for finding in judgement.findings:
        if finding.kind in {"open", "suspected"}:
            key = finding.row.case.key
            pairs[key] = max(pairs.get(key, 0), _pairs(finding))
    for failure in judgement.undecided:
        pairs.setdefault(failure.case.key, 1)
    if not pairs:
        return None
    return Shortfall([*pairs], max(pairs.values()))


def _pairs(finding: Finding) -> int:
    effect = finding.effect
    if effect.lacks or effect.ratio is None or not effect.ratio.is_known:
        return FIRST_PAIRS
    if effect.suspected:
        return max(CERTAIN_PROCESSES - effect.processes, 1)
    # Decided is what lies wholly below the bound, or wholly above no change
    worse_percent = effect.ratio.percent
    if not finding.metric.lower_is_better:
        worse_percent = -worse_percent
    half_width = finding.worst_percent - worse_percent
    room = max(finding.bound_percent - worse_percent, worse_percent)
    needed = math.ceil(effect.processes * (half_width / room) ** 2)
    return max(needed - effect.processes, 1)
