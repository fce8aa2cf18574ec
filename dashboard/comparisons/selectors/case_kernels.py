"""Which kernels account for a case's change: of each side one job, and what differs in its profile.

A side has many jobs and each has a profile. Compared are those that case_jobs.py chooses by their
device time.
"""

from dashboard.comparisons.core.matching import ComparisonRow, Key
from dashboard.comparisons.core.upgrade_groups import UpgradeReport
from dashboard.comparisons.core.upgrade_report import CaseKernels
from dashboard.comparisons.selectors.case_jobs import jobs_of_cases
from dashboard.comparisons.selectors.versions import MeasuredSide
from dashboard.results.core.kernel_words import sentence
from dashboard.results.selectors.kernels import diffs_of, profiles_of

MOST_SENTENCES = 40  # each reads two profiles
_METRICS = ("latency_ms", "device_ms")  # of a report, those that kernels can explain


def sentences(report: UpgradeReport, base: MeasuredSide, new: MeasuredSide) -> list[CaseKernels]:
    """Which kernels account for the change of each case whose step or device time changed: what is
    significant first, at most MOST_SENTENCES cases. Two or three queries.
    """
    changed: dict[Key, ComparisonRow] = {}
    for metric in _METRICS:
        for row in report.tables[metric].rows:
            if row.effect.is_changed:
                changed.setdefault(row.case.key, row)
    rows = sorted(changed.values(), key=lambda row: not row.effect.is_significant)[:MOST_SENTENCES]

    jobs = jobs_of_cases(rows, base, new, "device_ms")
    profiles = profiles_of({job for each in jobs.values() for job in (each.base, each.new)})
    kernels = []
    for row in rows:
        of_case = jobs.get(row.case.key)
        if of_case is None:
            continue
        diffs = diffs_of(profiles.get(of_case.base, {}), profiles.get(of_case.new, {}))
        if diffs:
            names = str(of_case.base), str(of_case.new)
            kernels.append(CaseKernels(row, *names, sentence(diffs[0])))
    return kernels
