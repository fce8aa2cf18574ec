"""Kernels that account for a case's change: one job of each side, and what differs in their
profiles.

A side has many jobs and each has a profile. Compared are those that case_jobs.py chooses by their
device time.
"""

from uuid import UUID

from dashboard.comparisons.core.matching import Key
from dashboard.comparisons.core.tables import ComparisonRow
from dashboard.comparisons.core.upgrade_groups import UpgradeReport
from dashboard.comparisons.core.upgrade_report import CaseKernels
from dashboard.comparisons.selectors.case_jobs import jobs_of_cases
from dashboard.comparisons.selectors.versions import MeasuredSide
from dashboard.results.core.kernel_words import sentence
from dashboard.results.core.known_changes import costs_in_kernels, in_kernels
from dashboard.results.selectors.kernels import diffs_of, profiles_of

MOST_SENTENCES = 40  # each reads two profiles
_METRICS = ("latency_ms", "device_ms")  # of a report, those that kernels can explain


def sentences(report: UpgradeReport, base: MeasuredSide, new: MeasuredSide) -> list[CaseKernels]:
    """Kernels that account for the change of each case whose step or device time changed: what is
    certain first, at most MOST_SENTENCES cases. Two or three queries.
    """
    rows = _rows(report)
    jobs = jobs_of_cases(rows, base, new, "device_ms")
    profiled = set[UUID]()
    for of_case in jobs.values():
        profiled |= {of_case.base, of_case.new}
    profiles = profiles_of(profiled)
    # Another machine or config may run other kernels whichever the release
    is_one_place = (base[0].machine, base[0].config) == (new[0].machine, new[0].config)
    kernels = []
    for row in rows:
        if row.case.key not in jobs:
            continue
        of_case = jobs[row.case.key]
        diffs = diffs_of(profiles.get(of_case.base, {}), profiles.get(of_case.new, {}))
        if diffs:
            names = str(of_case.base), str(of_case.new)
            known_changes = in_kernels(diffs[0]) if is_one_place else []
            costs = costs_in_kernels(diffs[0].base, diffs[0].new)
            said = sentence(diffs[0])
            kernels.append(CaseKernels(row, *names, said, known_changes, costs))
    return kernels


def _rows(report: UpgradeReport) -> list[ComparisonRow]:
    rows: dict[Key, ComparisonRow] = {}
    for metric in _METRICS:
        for row in report.tables[metric].changed:
            rows.setdefault(row.case.key, row)
    return sorted(rows.values(), key=lambda row: not row.change.is_certain)[:MOST_SENTENCES]
